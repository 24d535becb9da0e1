import type { LockdownScope, Measures } from '../../core/incident/scope.ts';
import type { RevocationPlan } from '../../core/plan.ts';
import type { TargetDescription } from '../ports/target-description.ts';

/** Something that stays open because this target cannot close it, or because it was not asked for. */
export interface ByHand {
  /** What, as a noun. */
  readonly what: string;
  readonly why: string;
  /** The command or the page that does it. */
  readonly remedy: string;
}

/** What a lockdown does not close, with the command or the page that does. */
export function byHand(options: {
  readonly scope: LockdownScope;
  readonly measures: Measures;
  readonly description: TargetDescription;
  readonly revocation: RevocationPlan | null;
}): readonly ByHand[] {
  const { scope, measures, description, revocation } = options;
  const { capabilities, address } = description;
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
      : [refreshTokens()]),
    ...(scope.kind === 'applications' ? [application(address)] : []),
    ...(scope.kind !== 'applications' && !measures.deactivate
      ? [passwords(capabilities.deactivateUsers)]
      : []),
    ...(capabilities.settingsHold === 'at_once' || !measures.basicAuthentication ? [] : [delay()]),
  ];
}

const NAMES = {
  refresh_tokens: 'refresh tokens',
  sessions: 'sessions',
  basic_authentication: 'basic authentication',
  own_token: 'your own token',
} as const;

/** Where tokens were not counted, nothing told of them. */
function refreshTokens(): ByHand {
  return {
    what: NAMES.refresh_tokens,
    why: 'They mint new access tokens, and cannot be listed or revoked here.',
    remedy:
      'Use a context of the database, or run `awx-manage revoke_oauth2_tokens --all` there (--user for one user).',
  };
}

function application(address: string): ByHand {
  return {
    what: 'the application itself',
    why: 'A controller cannot disable an application: whoever has its secret can have tokens granted anew.',
    remedy: `Delete it, or give it another secret, on its page${/^https?:/.test(address) ? ` at ${address}/#/applications` : " of the controller's own interface"}.`,
  };
}

function passwords(deactivates: boolean): ByHand {
  return {
    what: 'logging in',
    why: 'Users stay active: whoever has a password, or an account at the identity provider, can log in anew and make tokens.',
    remedy: deactivates
      ? 'Deactivate them as well, with --deactivate; or change the passwords.'
      : 'Deactivate them with --deactivate in a context of the database (a controller takes no deactivation over REST), or change the passwords, at the identity provider where they are kept there.',
  };
}

function delay(): ByHand {
  return {
    what: 'the next minute',
    why: 'A running controller reads its settings again after up to a minute: until then it issues tokens as before.',
    remedy: 'Run the same command again after a minute.',
  };
}
