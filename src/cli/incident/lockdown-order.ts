import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import type { LockdownScope, Measures } from '../../domain/incident/incident.ts';
import { newIncidentId } from '../../operations/incident/plan-lockdown.ts';
import { resolveSubject } from '../../operations/investigation/resolve-subject.ts';
import type { SavedLockdown } from '../../operations/revocation/saved-plan.ts';
import { boundUser } from '../../operations/scope/bound-names.ts';
import { notOfThis, readAnyPlan } from '../change/plan-file.ts';
import { type LockdownFlags, lockdownForm, scopeFlags } from './incident-flags.ts';
import { localMeasures } from './local-access.ts';

export interface LockdownOrder {
  /** With a token, only the names that were also given: {@link meantScope} has the owner. */
  readonly scope: LockdownScope;
  readonly token: number | null;
  readonly measures: Measures;
  /** The id for a new incident in several contexts. */
  readonly sharedId: string;
  /** The id for a new incident, announced by a dry run and used by the next change; undefined for any. */
  readonly proposedId?: string | undefined;
  /** The duration in milliseconds; null for until lifted. */
  readonly lasts: number | null;
  readonly saved: SavedLockdown | null;
  /** The work at each address, for contexts that share one. */
  readonly turns: Map<string, Promise<unknown>>;
}

/** The lockdown that the flags describe, the same in all contexts. Throws `usage`. */
export function lockdownOrder(flags: LockdownFlags): LockdownOrder {
  const common = { sharedId: newIncidentId(), turns: new Map<string, Promise<unknown>>() };
  if (flags.plan !== undefined) {
    const saved = readAnyPlan(flags.plan);
    if (saved.format === 'tokenctl-lockdown-plan') return { ...common, ...saved, token: null, saved };
    throw notOfThis(flags.plan, saved);
  }
  const scope = scopeFrom(flags);
  const measures = measuresFrom(flags, scope);
  return { ...common, scope, token: flags.token ?? null, measures, lasts: flags.for ?? null, saved: null };
}

/** The scope at a target. A token's owner decides; a name given as well is a remark. Throws `not_found`. */
export async function meantScope(
  runtime: Pick<Runtime, 'readTarget' | 'evidence'>,
  { scope, token }: Pick<LockdownOrder, 'scope' | 'token'>,
): Promise<{ readonly scope: LockdownScope; readonly remarks: readonly string[] }> {
  if (token === null || scope.kind !== 'users') return { scope, remarks: [] };
  const { target, clock } = await runtime.readTarget();
  const evidence = await runtime.evidence();
  try {
    const now = clock.now();
    const { actors } = await resolveSubject({ target, evidence, since: now, until: now }, { token });
    const ids = actors.flatMap(({ user }) => user.id ?? []);
    const [owner] =
      ids.length === 0 ? [] : (await Array.fromAsync(target.users.list({ ids }))).map(boundUser);
    if (owner === undefined) {
      const { username = '?' } = actors[0]?.user ?? {};
      throw new TokenctlError('not_found', `User ${username}, the owner of token ${token}, was not found`);
    }
    const others = scope.names.filter((name) => name !== owner.name);
    const remarks = others.map(
      (name) =>
        `Token ${token} belongs to ${owner.name} (${owner.id}), not to ${name}. This user is not included.`,
    );
    return { scope: { kind: 'users', names: [owner.name], bound: [owner] }, remarks };
  } finally {
    await evidence.close();
  }
}

/** What one person may always do alone, because everyone else can continue to work. */
export function isOfOneUser(scope: LockdownScope): boolean {
  return scope.kind === 'users' && scope.names.length === 1;
}

/** The scope from the flags. Throws `usage` without a selection, or with several kinds. */
function scopeFrom(flags: LockdownFlags): LockdownScope {
  const { user, token, application, 'identity-provider': provider, all } = flags;
  const scopes: LockdownScope[] = [
    ...(user === undefined && token === undefined
      ? []
      : [{ kind: 'users' as const, names: [...new Set(user)].sort() }]),
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
    scope === undefined ? 'No selection for the lockdown' : 'More than one kind of selection',
    { hint: 'Use only one of --user, --token, --application, --identity-provider and --all.' },
  );
}

/**
 * The default measures of a scope, overridden by flags. Measures that affect all users are on by default only
 * for --all and --identity-provider. Throws `usage`.
 */
function measuresFrom(flags: LockdownFlags, { kind }: LockdownScope): Measures {
  const isOn = (flag: 'basic-auth-off' | 'external-tokens-off' | 'shorten-lifetimes') =>
    flags[flag] ?? lockdownForm.fields[flag].onFor?.includes(scopeFlags[kind]) === true;
  const keepActive = [...new Set(flags['keep-active'] ?? [])].sort();
  const deactivate = flags.deactivate === true;
  if (kind === 'applications' && deactivate) {
    throw new TokenctlError('usage', '--deactivate cannot be used with --application', {
      hint: 'Use --user to select users.',
    });
  }
  if (keepActive.length > 0 && !deactivate) {
    throw new TokenctlError('usage', '--keep-active requires --deactivate');
  }
  return {
    basicAuthentication: isOn('basic-auth-off'),
    externalTokens: isOn('external-tokens-off'),
    deactivate,
    keepActive,
    lifetimes: isOn('shorten-lifetimes'),
    ...localMeasures(flags, kind),
  };
}
