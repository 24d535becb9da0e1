import { someOf } from '@tokenctl/common/text.ts';
import { type AccessPath, covering, openPath, type PathName, uncheckedPath } from '../../domain/access.ts';
import { lifetimeCaution } from '../../domain/dialect.ts';
import type { Lock, LockdownScope, Measures } from '../../domain/incident/incident.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import { shellWord } from '../../domain/remedies.ts';
import { knownEffect } from '../../domain/tried-versions.ts';
import { missingUsersPath, unreadSwitch } from '../access/check-paths.ts';
import type { TargetDescription } from '../ports/target.ts';
import type { LocalAccessPlan } from './end-local-access.ts';
import { wantedSwitches } from './lock-settings.ts';

/** What a lockdown or offboarding ends beyond access tokens. Sessions belong to users, not applications. */
export function coveredPaths(kind: LockdownScope['kind']): readonly PathName[] {
  return ['authorization_codes', 'refresh_tokens', ...(kind === 'applications' ? [] : ['sessions' as const])];
}

export interface LockedAccess {
  readonly scope: LockdownScope;
  readonly measures: Measures;
  /** What is set last: empty if lifetimes are not settings. */
  readonly lifetimes: readonly Lock[];
  /** Why settings were left unchanged: they cannot be read. Null if none were. */
  readonly settingsLeft: string | null;
  /** What is revoked; null if the scope matches no user. */
  readonly revocation: RevocationPlan | null;
  /** Names of users of an open incident that no longer exist. */
  readonly usersGone: readonly string[];
  /** Names of users in scope who stay active. */
  readonly usersKept: readonly string[];
  /** Passwords, roles and applications that are ended too. */
  readonly local: LocalAccessPlan;
}

/** The access paths that a lockdown leaves open or unchecked, with the command or page that closes them. */
export function lockdownPaths(
  options: LockedAccess & { readonly description: TargetDescription },
): readonly AccessPath[] {
  const { scope, measures, description, revocation, local, settingsLeft: why } = options;
  // A controller refuses the password of a deactivated user.
  const isReset = measures.resetPasswords === true && local.external.length === 0;
  const noPasswords =
    (measures.basicAuthentication && why === null) ||
    isReset ||
    (measures.deactivate && scope.kind !== 'applications' && options.usersKept.length === 0);
  const left = (revocation?.accessPaths ?? []).filter(
    ({ path }) => !(path === 'basic_authentication' && noPasswords),
  );
  const isOfUsers = scope.kind !== 'applications';
  return [
    ...covering(left, coveredPaths(scope.kind)),
    ...missingUsersPath(options.usersGone),
    ...covering(
      [
        ...(isOfUsers || measures.endApplications ? [] : [application(scope, description)]),
        ...(isOfUsers && !measures.deactivate && !isReset ? [passwords(description)] : []),
        ...localPathsLeft(local, description),
        ...(options.usersKept.length > 0 ? [usersKept(options.usersKept)] : []),
        ...(isOfUsers ? [...otherComponents(description), ...gatewayCredentials(description)] : []),
        ...(measures.lifetimes && options.lifetimes.length === 0 && why === null ? [lifetimes()] : []),
        ...(options.lifetimes.length > 0 ? applicationLifetimes(description) : []),
      ],
      [],
    ),
    ...(why === null ? [] : wantedSwitches(measures).map((name) => unreadSwitch(name, why))),
    ...(measures.basicAuthentication && why === null ? delay(description.capabilities.settingsHold) : []),
  ];
}

function application(
  scope: LockdownScope,
  { address, dialect, context, databaseContext, credential }: TargetDescription,
): AccessPath {
  const page = `${address}/${dialect === 'gateway' ? 'access' : '#'}/applications`;
  const how =
    'The application still exists, and cannot be disabled. Its client secret can still be used to obtain tokens.';
  const [name, ...others] = 'names' in scope ? scope.names : [];
  const command = (what: string, place: string | undefined) =>
    name === undefined || others.length > 0 || place === undefined
      ? `the command \`applications ${what}\``
      : `\`tokenctl applications ${what} --context ${shellWord(place)} ${name.startsWith('-') ? '-- ' : ''}${shellWord(name)}\``;
  const inDatabase = credential === 'database_role' ? context : databaseContext;
  return openPath('applications', how, {
    remedy: `Use ${command('delete', context)}, add --end-applications, or replace its secret with ${command('rotate-secret', inDatabase)}${inDatabase === undefined ? ' in a database context' : ''}. Its page is ${/^https?:/.test(address) ? `at ${page}` : `in the ${dialect}'s web interface`}.`,
  });
}

function passwords({ capabilities, credential, context }: TargetDescription): AccessPath {
  const isRole = credential === 'database_role';
  const how =
    'The users stay active. They can log in with a password or through an identity provider, and create tokens.';
  return openPath('login', how, {
    remedy: capabilities.deactivateUsers
      ? 'Add --deactivate, or change the passwords.'
      : `${isRole ? `To deactivate users, grant the permissions that \`tokenctl context check --context ${shellWord(context)}\` lists, and add --deactivate` : 'Use --deactivate with a database context'}, or change the passwords (at the identity provider for external accounts).`,
  });
}

/** What remains possible after passwords were reset, roles removed and applications deleted. */
export function localPathsLeft(
  local: LocalAccessPlan,
  { context }: TargetDescription,
): readonly AccessPath[] {
  const { passwords: reset, external, applicationsKept } = local;
  const paths: AccessPath[] = [];
  if (reset.length > 0) {
    const how = `${names(reset)} ${reset.length === 1 ? 'stays' : 'stay'} active. An identity provider that asserts such a name may still log the user in. This was not tested.`;
    const remedy = 'Deactivate the users with a database context, or check the identity providers.';
    paths.push(uncheckedPath('single_sign_on', how, { remedy }));
  }
  if (external.length > 0) {
    const how = `From an identity provider, which may assign roles again at the next login: ${names(external)}. Controller 24.6.1 does not change the password of such an account over its REST API, and accepts an existing one.`;
    const remedy =
      'Disable the accounts at the identity provider, and use a database context to deactivate the users.';
    paths.push(openPath('external_accounts', how, { remedy }));
  }
  for (const { id, name, othersTokens } of applicationsKept) {
    const how = `${name} was created by a user in this selection, but other users have ${othersTokens} of its access tokens. It was kept.`;
    const remedy = `To delete it with all of its tokens: tokenctl applications delete ${shellWord(name)} --id ${id} --context ${shellWord(context)}`;
    paths.push(openPath('applications', how, { remedy }));
  }
  return covering(paths, []);
}

function names(users: readonly { readonly username: string }[]): string {
  const all = users.map(({ username }) => username);
  return someOf(all, SHOWN);
}

/** The number of names to list. */
const SHOWN = 8;

/** The users that stay active although the lockdown deactivates users. */
function usersKept(kept: readonly string[]): AccessPath {
  const shown = names(kept.map((username) => ({ username })));
  const how = `${shown} ${kept.length === 1 ? 'stays' : 'stay'} active, and can log in with a password or through an identity provider, and create tokens.`;
  const remedy = 'Change the known passwords (at the identity provider for external accounts).';
  return openPath('login', how, { remedy });
}

/**
 * The other components of a platform: a database contains one of them. Over the REST API, a command covers
 * all existing ones. Tested with a controller 24.6.1 behind a gateway: it logs in its user under the name
 * that the gateway states, even if deactivated on the controller, and creates the user if necessary.
 */
export function otherComponents({
  dialect,
  credential,
}: Pick<TargetDescription, 'dialect' | 'credential'>): readonly AccessPath[] {
  if (credential !== 'database_role' || dialect === 'service') return [];
  const path =
    dialect === 'controller'
      ? uncheckedPath(
          'gateway',
          'If this controller is behind a gateway, it accepts users who are active on the gateway, even if they are deactivated here. This was not checked.',
          { remedy: 'If there is a gateway, run the same command in its context as well.' },
        )
      : uncheckedPath(
          'controller',
          'It accepts its own tokens and passwords, even if they are revoked here. This was not checked.',
          { remedy: 'Run the same command in a context of the controller as well.' },
        );
  return covering([path], []);
}

/** The maximum lifetime of a workload identity token, in seconds [code]. */
const WORKLOAD_IDENTITY_S = 86_400;

/**
 * Other credentials that recent gateways issue or accept. Read in their code, untested; no API lists them.
 */
export function gatewayCredentials({ dialect }: Pick<TargetDescription, 'dialect'>): readonly AccessPath[] {
  if (dialect !== 'gateway') return [];
  return covering(
    [
      uncheckedPath(
        'workload_identity',
        'A recent gateway issues such tokens for other systems to superusers and services. It does not store them, so they can be neither listed nor revoked. This was not tested.',
        {
          lifetime: WORKLOAD_IDENTITY_S,
          remedy:
            "If the user was a superuser, check the systems that accept them, or replace the gateway's signing key.",
        },
      ),
      uncheckedPath(
        'service_keys',
        'A recent gateway accepts service keys instead of tokens. Only its management command creates them. This was not tested.',
        {
          remedy:
            "If one of the gateway's servers may be compromised, create new keys with `aap-gateway-manage generate_service_secret`.",
        },
      ),
    ],
    [],
  );
}

/** Tokens that new lifetimes do not affect. */
function applicationLifetimes(description: TargetDescription): readonly AccessPath[] {
  const caution = lifetimeCaution(description.dialect);
  if (caution === null) return [];
  const { seenOn } = knownEffect('application_lifetimes', description);
  const version = seenOn.length === 0 ? 'other controllers' : seenOn.join(' and ');
  const known = { state: 'open', basis: 'known', version, covered: false } as const;
  return [{ path: 'token_lifetimes', ...known, how: caution.why, remedy: caution.remedy }];
}

/** A platform gateway reads its lifetimes from a file. */
function lifetimes(): AccessPath {
  const how = 'A platform gateway reads it from its settings file, not from the API.';
  const remedy = 'Set OAUTH2_PROVIDER__ACCESS_TOKEN_EXPIRE_SECONDS in that file, and restart the gateway.';
  return openPath('token_lifetimes', how, { remedy });
}

/** Until a written setting is applied, tokens are issued as before. */
function delay(holds: TargetDescription['capabilities']['settingsHold']): readonly AccessPath[] {
  if (holds === 'at_once') return [];
  const [who, time] = (
    {
      within_seconds: ['The other workers of a running controller take', 'five seconds'],
      within_a_minute: ['A running controller takes', 'a minute'],
      within_five_minutes: ['A running gateway caches its settings: by default, it takes', 'five minutes'],
    } as const
  )[holds];
  const how = `${who} up to ${time} to apply new settings. Until then, tokens are issued as before.`;
  return [
    uncheckedPath('basic_authentication', how, { remedy: `Run the same command again after ${time}.` }),
  ];
}
