import { TokenctlError } from '../../domain/errors.ts';
import type { LockdownScope, Measures, Provider } from '../../domain/incident/incident.ts';
import { newIncidentId } from '../../operations/incident/plan-lockdown.ts';
import type { ChangeFlags } from '../flags.ts';

/** The flags that say what is locked down. */
export interface LockdownFlags extends ChangeFlags {
  readonly user?: readonly string[] | undefined;
  readonly application?: readonly string[] | undefined;
  readonly 'identity-provider'?: Provider | undefined;
  readonly all?: boolean | undefined;
  readonly deactivate?: boolean | undefined;
  readonly 'keep-active'?: readonly string[] | undefined;
  readonly 'basic-auth-off'?: boolean | undefined;
  readonly 'external-tokens-off'?: boolean | undefined;
  readonly 'shorten-lifetimes'?: boolean | undefined;
  /** In milliseconds. */
  readonly for?: number | undefined;
}

/** What a lockdown is to be. */
export interface LockdownOrder {
  readonly scope: LockdownScope;
  readonly measures: Measures;
  /** The id that a new incident gets where several contexts are locked down. */
  readonly sharedId: string;
}

/**
 * What the flags mean, the same in all contexts.
 *
 * @throws TokenctlError `usage`
 */
export function lockdownOrder(flags: LockdownFlags): LockdownOrder {
  const scope = scopeFrom(flags);
  return { scope, measures: measuresFrom(flags, scope), sharedId: newIncidentId() };
}

/**
 * Whom the flags mean.
 *
 * @throws TokenctlError `usage` where they mean nobody, or several kinds.
 */
function scopeFrom(flags: LockdownFlags): LockdownScope {
  const { user, application, 'identity-provider': provider, all } = flags;
  const scopes: LockdownScope[] = [
    ...(user === undefined ? [] : [{ kind: 'users' as const, names: [...new Set(user)].sort() }]),
    ...(application === undefined
      ? []
      : [{ kind: 'applications' as const, names: [...new Set(application)].sort() }]),
    ...(provider === undefined ? [] : [{ kind: 'identity_provider' as const, provider }]),
    ...(all === true ? [{ kind: 'all' as const }] : []),
  ];
  const [scope] = scopes;
  if (scope !== undefined && scopes.length === 1) return scope;
  throw new TokenctlError(
    'usage',
    scope === undefined ? 'Nothing is selected to lock down' : 'Several kinds of selection are given',
    { hint: 'Give one of --user, --application, --identity-provider and --all.' },
  );
}

/**
 * The measures of a scope, with those that flags name over them. What concerns everybody is the default only
 * where everybody, or a whole identity provider, is meant.
 *
 * @throws TokenctlError `usage`
 */
function measuresFrom(flags: LockdownFlags, { kind }: LockdownScope): Measures {
  const isWide = kind === 'all' || kind === 'identity_provider';
  const keepActive = [...new Set(flags['keep-active'] ?? [])].sort();
  const deactivate = flags.deactivate === true;
  if (kind === 'applications' && deactivate) {
    throw new TokenctlError('usage', '--deactivate is about users, and an application is selected', {
      hint: 'Name its users with --user.',
    });
  }
  if (keepActive.length > 0 && !deactivate) {
    throw new TokenctlError('usage', '--keep-active without --deactivate keeps nobody from anything');
  }
  return {
    basicAuthentication: flags['basic-auth-off'] ?? isWide,
    externalTokens: flags['external-tokens-off'] ?? isWide,
    deactivate,
    keepActive,
    lifetimes: flags['shorten-lifetimes'] ?? kind === 'all',
  };
}
