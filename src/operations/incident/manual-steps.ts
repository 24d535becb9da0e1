import { basicAuthCaution, managementCommands } from '../../domain/dialect.ts';
import type { Lock, LockdownScope, Measures } from '../../domain/incident/incident.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import type { TargetDescription } from '../ports/target.ts';

/** Something that stays open because this target cannot close it, or because it was not asked for. */
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
}): readonly ManualStep[] {
  const { scope, measures, description, revocation } = options;
  const { capabilities } = description;
  const left = (revocation?.staysAlive ?? [])
    .filter(({ what }) => !(what === 'basic_authentication' && measures.basicAuthentication))
    .map(({ what, why, remedy }) => ({
      what: NAMES[what],
      why,
      remedy:
        what === 'own_token'
          ? 'Revoke it last, with `tokenctl tokens revoke --include-own`, or from another account.'
          : remedy,
    }));
  return [
    ...left,
    ...(capabilities.refreshTokens || left.some(({ what }) => what === NAMES.refresh_tokens)
      ? []
      : [refreshTokens(description)]),
    ...(scope.kind === 'applications' ? [application(description)] : []),
    ...(scope.kind !== 'applications' && !measures.deactivate
      ? [passwords(capabilities.deactivateUsers)]
      : []),
    ...(measures.lifetimes && options.lifetimes.length === 0 ? [lifetimes()] : []),
    ...(measures.basicAuthentication ? localAccounts(description) : []),
    ...(measures.basicAuthentication ? delay(capabilities.settingsHold) : []),
  ];
}

const NAMES = {
  refresh_tokens: 'refresh tokens',
  sessions: 'sessions',
  basic_authentication: 'basic authentication',
  own_token: 'your own token',
} as const;

/** Where tokens were not counted, nothing told of them. */
function refreshTokens({ dialect }: TargetDescription): ManualStep {
  const { revokeTokens } = managementCommands(dialect);
  return {
    what: NAMES.refresh_tokens,
    why: 'They mint new access tokens, and cannot be listed or revoked here.',
    remedy: `Use a context of the database, or run \`${revokeTokens}\` there (--user for one user).`,
  };
}

function application({ address, dialect }: TargetDescription): ManualStep {
  const page = `${address}/${dialect === 'gateway' ? 'access' : '#'}/applications`;
  return {
    what: 'the application itself',
    why: 'An application cannot be disabled: whoever has its secret can have tokens granted anew.',
    remedy: `Delete it, or give it another secret, on its page${/^https?:/.test(address) ? ` at ${page}` : ` of the web interface of the ${dialect}`}.`,
  };
}

function passwords(deactivates: boolean): ManualStep {
  return {
    what: 'logging in',
    why: 'Users stay active: whoever has a password, or an account at the identity provider, can log in anew and make tokens.',
    remedy: deactivates
      ? 'Deactivate them as well, with --deactivate; or change the passwords.'
      : 'Deactivate them with --deactivate in a context of the database (there is no deactivation over the REST API here), or change the passwords, at the identity provider where they are kept there.',
  };
}

/** A platform gateway reads them from a file. */
function lifetimes(): ManualStep {
  return {
    what: 'how long new tokens live',
    why: 'It is no setting here: a platform gateway reads it from its settings file.',
    remedy: 'Set OAUTH2_PROVIDER__ACCESS_TOKEN_EXPIRE_SECONDS there, and restart the gateway.',
  };
}

/** Whom turning Basic authentication off keeps out besides. */
function localAccounts({ dialect }: TargetDescription): readonly ManualStep[] {
  const why = basicAuthCaution(dialect);
  if (why === null) return [];
  const remedy =
    'Log in with an account of an identity provider; where this turned it off, `tokenctl incident lift` turns it on again.';
  return [{ what: 'the web interface', why, remedy }];
}

/** Until a setting holds that was written, tokens are issued as before. */
function delay(holds: TargetDescription['capabilities']['settingsHold']): readonly ManualStep[] {
  if (holds === 'at_once') return [];
  const isGateway = holds === 'within_five_minutes';
  return [
    {
      what: isGateway ? 'the next five minutes' : 'the next minute',
      why: isGateway
        ? 'A running gateway keeps its settings in a cache, five minutes by default: until then it issues tokens as before.'
        : 'A running controller reads its settings again after up to a minute: until then it issues tokens as before.',
      remedy: `Run the same command again after ${isGateway ? 'that' : 'a minute'}.`,
    },
  ];
}
