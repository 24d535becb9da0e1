import { basicAuthCaution, lifetimeCaution } from '../../domain/dialect.ts';
import type { Lock, LockdownScope, Measures } from '../../domain/incident/incident.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import { shellWord } from '../../domain/remedies.ts';
import type { TargetDescription } from '../ports/target.ts';
import type { LocalAccessPlan } from './end-local-access.ts';

/** Something that stays open because this target cannot close it or because it was not requested. */
export interface ManualStep {
  /** What, as a noun. */
  readonly what: string;
  readonly why: string;
  /** The command or the page that does it. */
  readonly remedy: string;
}

/** What a lockdown does not close, with the command or the page that does. */
export function manualSteps(options: {
  readonly scope: LockdownScope;
  readonly measures: Measures;
  readonly description: TargetDescription;
  /** What is locked of the lifetimes: nothing where they are no settings. */
  readonly lifetimes: readonly Lock[];
  readonly revocation: RevocationPlan | null;
  /** Names of users that do not exist any more. */
  readonly usersGone: readonly string[];
  /** Names of users that are meant and stay active. */
  readonly usersKept: readonly string[];
  readonly local: LocalAccessPlan;
}): readonly ManualStep[] {
  const { scope, measures, description, revocation } = options;
  const { capabilities } = description;
  // A controller refuses the password of a user who is deactivated.
  const isReset = measures.resetPasswords === true && options.local.external.length === 0;
  const noPasswords =
    measures.basicAuthentication ||
    isReset ||
    (measures.deactivate && scope.kind !== 'applications' && options.usersKept.length === 0);
  const left = (revocation?.staysAlive ?? [])
    .filter(({ what }) => !(what === 'basic_authentication' && noPasswords))
    .map(({ what, why, remedy }) => ({ what: NAMES[what], why, remedy }));
  return [
    ...left,
    ...options.usersGone.map(missingUser),
    ...(scope.kind === 'applications' && !measures.endApplications ? [application(description)] : []),
    ...(scope.kind !== 'applications' && !measures.deactivate && !isReset ? [passwords(description)] : []),
    ...localSteps(options.local, description),
    ...(options.usersKept.length > 0 ? [usersKept(options.usersKept)] : []),
    ...(scope.kind !== 'applications' ? otherComponents(description) : []),
    ...(measures.lifetimes && options.lifetimes.length === 0 ? [lifetimes()] : []),
    ...(options.lifetimes.length > 0 ? applicationLifetimes(description) : []),
    ...(measures.basicAuthentication ? localAccounts(description) : []),
    ...(measures.basicAuthentication ? delay(capabilities.settingsHold) : []),
  ];
}

const NAMES = {
  authorization_codes: 'authorization codes',
  refresh_tokens: 'refresh tokens',
  sessions: 'sessions',
  basic_authentication: 'basic authentication',
  own_token: 'your own token',
} as const;

function missingUser(name: string): ManualStep {
  return {
    what: name,
    why: 'No user has this name any more: the user was deleted or renamed.',
    remedy: 'If it was renamed, lock down the new name.',
  };
}

function application({ address, dialect }: TargetDescription): ManualStep {
  const page = `${address}/${dialect === 'gateway' ? 'access' : '#'}/applications`;
  return {
    what: 'the application itself',
    why: 'An application cannot be disabled. Its client secret can still be used to obtain tokens.',
    remedy: `Run \`tokenctl applications delete\`, add --end-applications, or replace its secret with \`tokenctl applications rotate-secret\` in a database context. Its page is ${/^https?:/.test(address) ? `at ${page}` : `in the web interface of the ${dialect}`}.`,
  };
}

function passwords({ capabilities, credential, context }: TargetDescription): ManualStep {
  const isRole = credential === 'database_role';
  return {
    what: 'logging in',
    why: 'The users stay active. They can log in with a password or through an identity provider, and create tokens.',
    remedy: capabilities.deactivateUsers
      ? 'Add --deactivate, or change the passwords.'
      : `${isRole ? `Grant the rights to deactivate users that \`tokenctl context check --context ${context}\` lists and add --deactivate` : 'Use --deactivate with a database context'}, or change the passwords (at the identity provider for external accounts).`,
  };
}

/** What stays possible after passwords were reset, roles taken and applications deleted. */
export function localSteps(local: LocalAccessPlan, { context }: TargetDescription): readonly ManualStep[] {
  const { passwords: reset, external, applicationsKept } = local;
  return [
    ...(reset.length > 0
      ? [
          {
            what: 'single sign-on',
            why: `${names(reset)} ${reset.length === 1 ? 'stays' : 'stay'} active. An identity provider that asserts such a name may still log the user in. This was not tried.`,
            remedy: 'Deactivate the users with a database context, or check the identity providers.',
          },
        ]
      : []),
    ...(external.length > 0
      ? [
          {
            what: 'external accounts',
            why: `From an identity provider, which may give roles again at the next login: ${names(external)}. A controller 24.6.1 does not change the password of such an account over its REST API, and accepts one that it has.`,
            remedy:
              'Disable the accounts at the identity provider, and deactivate the users with a database context.',
          },
        ]
      : []),
    ...applicationsKept.map(({ id, name, othersTokens }) => ({
      what: `the application ${name}`,
      why: `It was made by a user of this selection, and others have ${othersTokens} of its access tokens. It was kept.`,
      remedy: `To delete it with all its tokens: tokenctl applications delete ${shellWord(name)} --id ${id} --context ${shellWord(context)}`,
    })),
  ];
}

function names(users: readonly { readonly username: string }[]): string {
  const more = users.length - SHOWN;
  return (
    users
      .slice(0, SHOWN)
      .map(({ username }) => username)
      .join(', ') + (more > 0 ? ` and ${more} more` : '')
  );
}

/** Names to list. */
const SHOWN = 8;

/** The users that a lockdown that deactivates users leaves active. */
function usersKept(names: readonly string[]): ManualStep {
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '';
  const subject = `${names.slice(0, SHOWN).join(', ')}${more} ${names.length === 1 ? 'stays' : 'stay'}`;
  return {
    what: 'logging in',
    why: `${subject} active, and can log in with a password or through an identity provider, and create tokens.`,
    remedy: 'Change the passwords that are known (at the identity provider for external accounts).',
  };
}

/**
 * What the database of one component of a platform does not show. Tried with a controller 24.6.1 behind a gateway: it logs in
 * its user with the name that the gateway states, deactivated at the controller or not, and creates that user if necessary.
 */
const OTHER_COMPONENTS: Readonly<Record<TargetDescription['dialect'], readonly ManualStep[]>> = {
  service: [],
  controller: [
    {
      what: 'a platform gateway',
      why: 'If this controller is behind one, it lets in users who are active at the gateway, deactivated here or not. This was not checked.',
      remedy: 'If there is one, run the same command in a context of the gateway as well.',
    },
  ],
  gateway: [
    {
      what: 'the controller behind the gateway',
      why: 'It accepts its own tokens and passwords, revoked here or not. This was not checked.',
      remedy: 'Run the same command in a context of the controller as well.',
    },
  ],
};

/** The other components of a platform: a database shows one. Over the REST API, a command covers those that there are. */
export function otherComponents({
  dialect,
  credential,
}: Pick<TargetDescription, 'dialect' | 'credential'>): readonly ManualStep[] {
  return credential === 'database_role' ? OTHER_COMPONENTS[dialect] : [];
}

/** Which tokens new lifetimes do not reach. */
function applicationLifetimes({ dialect }: TargetDescription): readonly ManualStep[] {
  const caution = lifetimeCaution(dialect);
  return caution === null ? [] : [{ what: 'the lifetime of application tokens', ...caution }];
}

/** A platform gateway reads them from a file. */
function lifetimes(): ManualStep {
  return {
    what: 'the lifetime of new tokens',
    why: 'A platform gateway reads it from its settings file, not from the API.',
    remedy: 'Set OAUTH2_PROVIDER__ACCESS_TOKEN_EXPIRE_SECONDS in that file, and restart the gateway.',
  };
}

/** The local accounts that turning basic authentication off also locks out. */
function localAccounts({ dialect }: TargetDescription): readonly ManualStep[] {
  const why = basicAuthCaution(dialect);
  if (why === null) return [];
  const remedy =
    'Log in with an identity provider account. `tokenctl incident lift` turns basic authentication on again.';
  return [{ what: 'the web interface', why, remedy }];
}

/** Until a setting holds that was written, tokens are issued as before. */
function delay(holds: TargetDescription['capabilities']['settingsHold']): readonly ManualStep[] {
  if (holds === 'at_once') return [];
  if (holds === 'within_seconds') {
    return [
      {
        what: 'the next five seconds',
        why: 'The other workers of a running controller take up to five seconds to apply new settings.',
        remedy: 'Run the same command again after five seconds.',
      },
    ];
  }
  const isGateway = holds === 'within_five_minutes';
  return [
    {
      what: isGateway ? 'the next five minutes' : 'the next minute',
      why: isGateway
        ? 'A running gateway caches its settings, for five minutes by default. Until then it issues tokens as before.'
        : 'A running controller takes up to a minute to apply new settings. Until then it issues tokens as before.',
      remedy: `Run the same command again after ${isGateway ? 'five minutes' : 'a minute'}.`,
    },
  ];
}
