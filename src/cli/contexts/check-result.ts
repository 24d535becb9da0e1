import { assumptions } from '../../domain/tried-versions.ts';
import { unreadSessions } from '../../operations/access/cached-sessions.ts';
import type { CheckedTarget } from '../../operations/contexts/check-target.ts';
import type { MissingRight, RightsPurpose, TargetDescription } from '../../operations/ports/target.ts';
import { RIGHTS_TEXT } from '../../operations/scope/visibility.ts';
import { facts, good, lines, list, type Part } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { expiryText } from '../../reports/tables/text.ts';
import type { OpenLeases } from '../leases/lease-text.ts';

/** The facts about the caller that need no check. */
type Identity = Omit<CheckedTarget, 'warnings' | 'capabilities'>;

/** What `whoami` prints with `--json`. */
export type IdentityJson = Pick<
  CheckedTarget,
  'context' | 'address' | 'identity' | 'credential' | 'ownToken' | 'compatibility'
>;

/** What `context check` prints with `--json`. */
export type ContextCheckJson = CheckedTarget & { readonly leases: OpenLeases };

export function checkResult(checked: ContextCheckJson): Report<ContextCheckJson> {
  const { leases } = checked;
  const { context, address, credential, transport, proxy, missingRights, sessionCache, warnings } = checked;
  const { able, unable } = abilities(checked);
  const works = `Context "${context}" ${worksText(checked, able)}.`;
  return report({
    json: checked,
    failure: unreadSessions(checked),
    document: [
      facts(
        [
          ['Target', `${answersText(checked)} at ${address}`],
          ...triedFacts(checked),
          ['User', `${identityText(checked)}, ${CREDENTIALS[credential]}`],
          ['Expires', expiryOf(checked)],
          ['Sees', seesText(checked)],
          ['Network', credential === 'database_role' && TRANSPORTS[transport]],
          ['Proxy', proxy],
          ['Cache', sessionCache?.problem === null && `sessions at ${sessionCache.addresses.join(', ')}`],
          ['Can do', able.join(', ')],
          ['Cannot', unableText(checked, unable)],
          ...(leases.open === 0
            ? []
            : [
                leases.ends === false
                  ? (['Leases', leases.text, 'warning'] as const)
                  : (['Leases', leases.text] as const),
              ]),
          ...warnings.map((warning) => ['Warning', warning, 'warning'] as const),
        ],
        able.length > 0 && checked.standby === undefined && !sessionCache?.problem
          ? good`${works}`.text
          : works,
      ),
      ...missingParts(missingRights),
    ],
  });
}

/** What it cannot do, and what can, if only the REST API lacks it. */
function unableText({ capabilities, credential, databaseContext }: CheckedTarget, unable: readonly string[]) {
  if (credential === 'database_role' || (capabilities.refreshTokens && capabilities.sessions)) {
    return unable.join(', ');
  }
  const place = databaseContext === undefined ? 'a database context' : `the context ${databaseContext}`;
  return `${unable.join(', ')}. Refresh tokens and sessions require ${place}`;
}

function worksText({ standby, sessionCache }: CheckedTarget, able: readonly string[]): string {
  if (able.length === 0) return 'responds, but has no permissions';
  if (sessionCache !== undefined && sessionCache.problem !== null)
    return 'works, but its session cache does not';
  return standby === undefined ? 'works' : 'works for reading only because it is a standby';
}

export function identityResult(checked: Identity): Report<IdentityJson> {
  const { context, address, identity, credential, ownToken, compatibility } = checked;
  return report({
    json: { context, address, identity, credential, ownToken, compatibility },
    document: [
      facts(
        [
          ['At', `${address} (context ${context})`],
          ['Tested', compatibility.text],
          ['Expires', expiryOf(checked)],
        ],
        `${identityText(checked)}, ${CREDENTIALS[credential]}`,
      ),
    ],
  });
}

/** How its version relates to the tested ones, with the assumptions about untested effects. */
function triedFacts({ compatibility, dialect, version }: Identity) {
  return [
    ['Tested', compatibility.text],
    ['Assumed', assumptions({ dialect, version })],
  ] as const;
}

/** When the own token expires; null if there is none. */
function expiryOf({ credential, ownToken: own }: Identity): string | null {
  if (credential !== 'token') return null;
  if (own === null) return 'unknown: this target does not list the token of this context';
  const { ids, earliest, latest } = own;
  if (ids.length === 1) return `${expiryText(earliest)} (token ${ids[0]})`;
  const [first, last] = [expiryText(earliest), expiryText(latest)];
  const which = `one of the tokens ${ids.join(', ')}`;
  return first === last ? `${first} (${which})` : `between ${first} and ${last} (${which})`;
}

const CREDENTIALS: Readonly<Record<TargetDescription['credential'], string>> = {
  token: 'with a token',
  password: 'with a password',
  database_role: 'a database role',
};

const TRANSPORTS: Readonly<Record<TargetDescription['transport'], string>> = {
  https: 'TLS, certificate verified',
  https_unverified: 'TLS, certificate not verified',
  http: 'an unencrypted connection',
  tls: 'TLS, certificate verified',
  tls_unverified: 'TLS, certificate not verified',
  plain: 'an unencrypted connection',
  local: 'a local socket',
};

/** The product and its version. A database does not store the version, so only its tables are named. */
function answersText({ dialect, version, credential }: CheckedTarget): string {
  if (version !== null) return `${dialect} ${version}`;
  if (credential !== 'database_role') return dialect;
  return `the tables of ${dialect === 'service' ? "tokenctl's own service" : `a ${dialect}`}`;
}

/** The caller, with the role. */
export function identityText({
  identity: { username, isSuperuser, isSystemAuditor },
  visibility,
  credential,
}: Pick<Identity, 'identity' | 'visibility' | 'credential'>): string {
  if (credential === 'database_role') return username;
  if (isSuperuser) return `${username} (superuser)`;
  if (isSystemAuditor) return `${username} (system auditor)`;
  const administered = visibility.kind === 'all' ? [] : visibility.organizations;
  if (administered.length === 0) return `${username} (normal user)`;
  return `${username} (organization administrator of ${administered.join(', ')})`;
}

function seesText({ visibility }: CheckedTarget): string {
  if (visibility.kind === 'all') return 'all tokens, users and applications';
  const { tokens, users, applications } = visibility;
  return [tokens, users, applications].join('; ');
}

function abilities({ capabilities, identity, missingRights, credential }: CheckedTarget) {
  const may = (purpose: RightsPurpose) => missingRights.every((right) => right.purpose !== purpose);
  const inDatabase = credential === 'database_role';
  const { isSuperuser } = identity;
  const revokes = capabilities.changes && may('revoke');
  const named: readonly (readonly [boolean, string])[] = [
    [may('read'), 'list access tokens'],
    [revokes, isSuperuser || inDatabase ? 'revoke access tokens' : 'revoke own access tokens'],
    [capabilities.createTokens && may('create'), 'create tokens'],
    [capabilities.settings && may('read'), 'read settings'],
    [
      capabilities.settings && capabilities.changes && (isSuperuser || inDatabase) && may('settings'),
      'change settings',
    ],
    [capabilities.refreshTokens && revokes, 'revoke refresh tokens'],
    [capabilities.sessions && capabilities.changes && may('sessions'), 'end sessions'],
    ...(inDatabase ? [[capabilities.changes && may('cleanup'), 'clean up'] as const] : []),
    [may('read'), `show ${capabilities.lastUsed ? '' : 'the day of '}each token's last use`],
  ];
  return {
    able: named.filter(([can]) => can).map(([, name]) => name),
    unable: named.filter(([can]) => !can).map(([, name]) => name),
  };
}

const PURPOSES: Readonly<Record<RightsPurpose, string>> = { ...RIGHTS_TEXT, read: 'read' };

/** The missing grants by purpose, for the database administrator. */
function missingParts(missing: readonly MissingRight[]): Part[] {
  const byPurpose = Map.groupBy(missing, ({ purpose }) => purpose);
  return Array.from(byPurpose, ([purpose, rights]) =>
    lines(`To ${PURPOSES[purpose]}, this role needs:`, list(rights.map(({ grant }) => `${grant};`))),
  );
}
