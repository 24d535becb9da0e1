import { type AccessPath, covering, openPath, uncheckedPath } from '../../domain/access.ts';
import type { Reach } from '../../domain/plan.ts';
import {
  authorizationCodesRemedy,
  expiredText,
  passwordsRemedy,
  type RemedySelection,
  refreshTokensRemedy,
  sessionsRemedy,
  shellWord,
} from '../../domain/remedies.ts';
import { DEFAULT_CODE_LIFETIME_S } from '../../domain/token.ts';
import type { RightsPurpose, Target, TargetDescription } from '../ports/target.ts';
import { type KnownSettings, knownSettings } from '../scope/known-settings.ts';
import { RIGHTS_TEXT } from '../scope/visibility.ts';

/** What a revocation covers: the facts that decide which access it leaves open. */
export interface RevocationFacts {
  readonly target: Pick<Target, 'settings' | 'sessions'>;
  readonly description: TargetDescription;
  /** The settings, if they were read already. Default: they are read. */
  readonly settings?: KnownSettings;
  /** How many of the selected access tokens have a live refresh token. */
  readonly tokensWithRefreshToken: number;
  /** How many of these refresh tokens are expired; null or absent if unknown. */
  readonly expiredRefreshTokens?: number | null;
  readonly reach: Reach;
  /** What is selected, for the commands that end the remaining access. */
  readonly selection: RemedySelection;
}

/** The access paths that a revocation leaves open: impossible to end here, or not requested. Reads only. */
export async function pathsNotCovered(facts: RevocationFacts): Promise<readonly AccessPath[]> {
  const settings = facts.settings ?? (await knownSettings(facts.target));
  const isRest = facts.description.credential !== 'database_role';
  const paths = isRest
    ? [unlistedRefreshTokens(facts), ...unlistedCodes(facts, settings), unlistedSessions(facts)]
    : [...refreshTokensLeft(facts), ...codesLeft(facts), ...sessionsLeft(facts)];
  return covering([...paths, ...passwords(facts, settings)], []);
}

/** How long an earlier code can be used, in seconds: the setting may have been lowered since its issue. */
export function codeLifetime({ values }: KnownSettings): number {
  const set = values?.OAUTH2_PROVIDER?.AUTHORIZATION_CODE_EXPIRE_SECONDS ?? 0;
  return Math.max(set, DEFAULT_CODE_LIFETIME_S);
}

function unlistedRefreshTokens(facts: RevocationFacts): AccessPath {
  const { selection, tokensWithRefreshToken: count } = facts;
  const how = `The REST API can neither list nor revoke refresh tokens.${expiredText(facts)}`;
  return uncheckedPath('refresh_tokens', how, {
    ...(count > 0 && { count }),
    remedy: refreshTokensRemedy(selection, facts.description),
  });
}

function unlistedCodes({ selection, description }: RevocationFacts, settings: KnownSettings) {
  if (selection.kind === 'tokens') return [];
  const lifetime = codeLifetime(settings);
  const how = `The REST API can neither list nor delete authorization codes. A code that was issued before can be exchanged for tokens for up to ${lifetime} seconds.`;
  const remedy = authorizationCodesRemedy(selection, description);
  return [uncheckedPath('authorization_codes', how, { lifetime, remedy })];
}

function unlistedSessions({ selection, description }: RevocationFacts): AccessPath {
  const how = 'The REST API cannot list sessions, and revoking tokens does not end them.';
  return uncheckedPath('sessions', how, { remedy: sessionsRemedy(selection, description) });
}

function refreshTokensLeft(facts: RevocationFacts): readonly AccessPath[] {
  const { reach, selection, tokensWithRefreshToken: count } = facts;
  if (reach.refreshTokens || count === 0) return [];
  const how = `Only access tokens are revoked. The refresh tokens stay, without an access token.${expiredText(facts)}`;
  const remedy = `Do not use --access-only. Afterwards: ${refreshTokensRemedy(selection, placeOf(facts))}`;
  return [openPath('refresh_tokens', how, { count, remedy })];
}

function codesLeft(facts: RevocationFacts): readonly AccessPath[] {
  const { reach, selection } = facts;
  if (reach.authorizationCodes || selection.kind === 'tokens') return [];
  const how =
    'They were not selected, or this role is not allowed to delete them. They can be exchanged for tokens.';
  const remedy = `${authorizationCodesRemedy(selection, placeOf(facts))} \`tokenctl context check --context ${shellWord(facts.description.context)}\` lists missing permissions.`;
  return [uncheckedPath('authorization_codes', how, { remedy })];
}

function sessionsLeft(facts: RevocationFacts): readonly AccessPath[] {
  const { reach, selection } = facts;
  if (reach.sessions) return [];
  const remedy = recordsOwners(facts)
    ? withRights(facts, 'sessions', sessionsRemedy(selection, placeOf(facts)))
    : selection.kind === 'all'
      ? 'No table holds the owners of sessions. After `DELETE FROM django_session` in this database, they are accepted until their entries in the cache of the gateway expire, unless the user is deactivated.'
      : 'No table contains the owners of sessions, so no command can end only these.';
  return [uncheckedPath('sessions', 'Revoking tokens does not end browser sessions.', { remedy })];
}

/** The first gateways have no table of session owners. */
function recordsOwners({ target, description: { missingRights } }: RevocationFacts): boolean {
  return target.sessions !== undefined || missingSessionRights(missingRights).length > 0;
}

/** The rights that a role needs to tell whose sessions exist. */
export function missingSessionRights(
  missingRights: TargetDescription['missingRights'],
): TargetDescription['missingRights'] {
  return missingRights.filter(({ purpose, grant }) => purpose === 'read' && /session\w* TO /.test(grant));
}

function passwords(facts: RevocationFacts, { values, why }: KnownSettings): readonly AccessPath[] {
  if (values?.AUTH_BASIC_ENABLED === false) return [];
  const { selection, description } = facts;
  const remedy = withRights(facts, 'settings', passwordsRemedy(selection, description));
  return [
    values === null
      ? uncheckedPath('basic_authentication', `The API may accept passwords: ${why}.`, { remedy })
      : openPath(
          'basic_authentication',
          'The API accepts passwords: a user with a password needs no token and can create new ones.',
          { remedy },
        ),
  ];
}

function placeOf({ description: { dialect, context } }: RevocationFacts) {
  return { dialect, context, databaseContext: context };
}

/** A remedy, with a note if the database role lacks rights for it. */
function withRights({ description }: RevocationFacts, purpose: RightsPurpose, remedy: string): string {
  const { credential, context, missingRights } = description;
  const lacks = missingRights.some((right) => right.purpose === purpose);
  const unread = purpose === 'sessions' && missingSessionRights(missingRights).length > 0;
  if (credential !== 'database_role' || !(lacks || unread)) return remedy;
  return `This role is not allowed to ${RIGHTS_TEXT[purpose]}. Grant the permissions that \`tokenctl context check --context ${shellWord(context)}\` lists. ${remedy}`;
}
