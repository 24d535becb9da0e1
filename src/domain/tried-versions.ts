/**
 * The test results of each version of a controller and each layout of a gateway: the single source for
 * tokenctl's assumptions, for `context check`, and for the table in `docs/compatibility.md`. Each outcome was
 * seen on that version, by performing the action and further requests; null if nothing was seen.
 */

/** A version of a controller, or a layout of a gateway, that tokenctl was tested on. */
const TRIED = [
  { id: 'awx-21.14.0', dialect: 'controller', version: '21.14.0', name: 'AWX 21.14.0' },
  { id: 'awx-23.5.1', dialect: 'controller', version: '23.5.1', name: 'AWX 23.5.1' },
  { id: 'awx-24.6.1', dialect: 'controller', version: '24.6.1', name: 'AWX 24.6.1' },
  {
    id: 'awx-devel',
    dialect: 'controller',
    version: '24.6.2.dev145',
    name: 'AWX of October 2024 (24.6.2.dev145)',
  },
  { id: 'gateway-plain', dialect: 'gateway', version: null, name: 'Gateway, tokens in clear text (2.5)' },
  { id: 'gateway', dialect: 'gateway', version: null, name: 'Gateway, hashed tokens (2.6)' },
  { id: 'gateway-newest', dialect: 'gateway', version: null, name: 'Gateway with OpenID Connect (2025)' },
] as const;

export type TriedId = (typeof TRIED)[number]['id'];

/** All tested versions and layouts, by age. */
export const triedVersions: readonly { readonly id: TriedId; readonly name: string }[] = TRIED;

type Outcomes = Readonly<Record<TriedId, string | null>>;

/** The effect of an action at a target. */
interface Effect {
  /** The action, as the beginning of a sentence. */
  readonly what: string;
  /** The outcome by version. */
  readonly seen: Outcomes;
  /** Where it was seen, for the table in the docs. */
  readonly where: string;
  /** The assumption if nothing was seen: the worst case. */
  readonly assumed: string;
}

const same = (outcome: string): Outcomes => ({
  ...{ 'awx-21.14.0': outcome, 'awx-23.5.1': outcome, 'awx-24.6.1': outcome, 'awx-devel': outcome },
  ...{ 'gateway-plain': outcome, gateway: outcome, 'gateway-newest': outcome },
});

/** The effects of actions that differ between versions or matter. */
export const effects = {
  orphaned_refresh: {
    what: 'A refresh token whose access token was revoked is',
    seen: same('refused'),
    where: 'requests after the change',
    assumed: 'accepted',
  },
  password_sessions: {
    what: "A new password leaves the user's sessions",
    seen: same('ended'),
    where: 'requests after the change',
    assumed: 'as they are',
  },
  password_tokens: {
    what: "A new password leaves the user's tokens and codes",
    seen: same('as they are'),
    where: 'requests after the change',
    assumed: 'as they are',
  },
  deactivated_tokens: {
    what: 'Tokens of a deactivated user are',
    seen: { ...same('accepted'), 'gateway-newest': null },
    where: 'requests by a user deactivated in the database',
    assumed: 'accepted',
  },
  revocation_endpoint: {
    what: 'The OAuth2 revocation endpoint leaves an access token',
    seen: { ...same('revoked'), gateway: 'as it is', 'gateway-newest': 'as it is' },
    where: 'requests after the change',
    assumed: 'as it is',
  },
  returning_sessions: {
    what: 'When a user is active again, sessions that were ended in the database are',
    seen: {
      ...same('refused'),
      ...{
        'awx-devel': null,
        'gateway-plain': 'accepted',
        gateway: 'accepted',
        'gateway-newest': 'accepted',
      },
    },
    where: 'requests after a lockdown was lifted',
    assumed: 'accepted',
  },
  application_lifetimes: {
    what: 'After a lifetime change, new application tokens have',
    seen: {
      ...same('the old lifetime'),
      // Their lifetimes are in a file.
      ...{ 'gateway-plain': null, gateway: null, 'gateway-newest': null },
    },
    where: 'the next responses of the token endpoint',
    assumed: 'the old lifetime',
  },
  failed_use: {
    what: 'A request that gets 404 leaves the last use of its token',
    seen: { ...same('as it is'), ...{ 'gateway-plain': null, gateway: null, 'gateway-newest': null } },
    where: 'token list filters after such requests',
    assumed: 'overwritten',
  },
} as const satisfies Readonly<Record<string, Effect>>;

/** The tables of each version, as far as they differ. tokenctl uses the tables that it finds. */
export const layouts = {
  tokens: {
    what: 'Tokens are stored',
    seen: { ...same('in clear'), gateway: 'as SHA-256', 'gateway-newest': 'as SHA-256' },
    where: 'tables',
  },
  session_owners: {
    what: 'The users of sessions are',
    seen: { ...same('recorded'), 'gateway-plain': 'not recorded' },
    where: 'rows added by a login',
  },
  roles: {
    what: 'The tables have',
    seen: {
      ...same('newer roles'),
      ...{ 'awx-21.14.0': 'older roles', 'awx-23.5.1': 'older roles' },
      ...{ 'awx-24.6.1': 'older and newer roles', 'awx-devel': 'older and newer roles' },
    },
    where: 'tables',
  },
  activity: {
    what: 'The activity stream contains settings changes as',
    seen: { ...same('JSON'), 'awx-21.14.0': 'text' },
    where: 'tables',
  },
  external_users: {
    what: 'Users from identity providers are recognized by',
    seen: {
      ...same('authenticators'),
      ...{ 'awx-21.14.0': 'separate tables', 'awx-23.5.1': 'separate tables' },
      ...{ 'awx-24.6.1': 'separate tables', 'awx-devel': 'nothing' },
    },
    where: 'tables',
  },
} as const satisfies Readonly<Record<string, Omit<Effect, 'assumed'>>>;

export type EffectName = keyof typeof effects;

/** The parts of a target that identify its version. */
interface VersionedTarget {
  readonly dialect: 'controller' | 'gateway' | 'service';
  readonly version: string | null;
}

export interface Standing {
  /** `unknown`: the target states no version, or one with another numbering. */
  readonly standing: 'tried' | 'between' | 'newer' | 'older' | 'unknown';
  /** The versions that it is, or is between: what they have in common is known for it. */
  readonly like: readonly TriedId[];
}

export function standingOf({ dialect, version }: VersionedTarget): Standing {
  // The service behaves like this controller.
  if (dialect === 'service') return { standing: 'tried', like: ['awx-24.6.1'] };
  const known = TRIED.filter((each) => each.dialect === dialect);
  // A gateway does not state its version: what all of them do is known.
  if (dialect === 'gateway') return { standing: 'unknown', like: known.map(({ id }) => id) };
  const own = numbersOf(version);
  // A numbering other than AWX's.
  if (own === null || (own[0] ?? 0) < 10) return { standing: 'unknown', like: [] };
  const order = known.map(({ id, version: tried }) => ({ id, sign: compare(own, numbersOf(tried) ?? []) }));
  const same = order.find(({ sign }) => sign === 0);
  if (same !== undefined) return { standing: 'tried', like: [same.id] };
  const [before, after] = [order.findLast(({ sign }) => sign > 0), order.find(({ sign }) => sign < 0)];
  if (before === undefined) return { standing: 'older', like: [] };
  if (after === undefined) return { standing: 'newer', like: [] };
  return { standing: 'between', like: [before.id, after.id] };
}

/** Major, minor, patch, and the number of a development version, which precedes the release. */
function numbersOf(version: string | null): readonly number[] | null {
  const found = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:\.dev(\d{1,9}))?/.exec(version ?? '');
  if (found === null) return null;
  const [, major, minor, patch, development] = found;
  return [Number(major), Number(minor), Number(patch), Number(development ?? Number.POSITIVE_INFINITY)];
}

function compare(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((each, at) => each !== b[at]);
  return index === -1 ? 0 : Math.sign((a[index] ?? 0) - (b[index] ?? 0));
}

export interface KnownEffect {
  /** Null if nothing was seen on a version that it is, or is between, or if these differ. */
  readonly outcome: string | null;
  /** Where it was seen. */
  readonly seenOn: readonly string[];
}

const OWN_SERVICE = "tokenctl's own service";

/** Effects in which the service does better than the controller of {@link standingOf}; its tests show it. */
const OF_SERVICE: Partial<Record<EffectName, string>> = {
  deactivated_tokens: 'refused',
  application_lifetimes: 'the new lifetime',
};

/** The effect of an action at a target, from the tested versions. */
export function knownEffect(name: EffectName, target: VersionedTarget): KnownEffect {
  const own = target.dialect === 'service' ? OF_SERVICE[name] : undefined;
  if (own !== undefined) return { outcome: own, seenOn: [OWN_SERVICE] };
  const { like } = standingOf(target);
  const { seen }: Effect = effects[name];
  const outcomes = new Set(like.map((id) => seen[id]));
  const [outcome = null] = outcomes;
  if (outcomes.size !== 1 || outcome === null) return { outcome: null, seenOn: [] };
  return { outcome, seenOn: TRIED.filter(({ id }) => like.includes(id)).map((each) => each.name) };
}

/** Whether controllers of this version may have the newer role tables, by the nearest tested versions. */
export function mayHaveNewerRoles(version: string | null): boolean {
  const { like } = standingOf({ dialect: 'controller', version });
  return like.length === 0 || like.some((id) => layouts.roles.seen[id] !== 'older roles');
}

/** How a target relates to the tested versions, and the consequences, for display and for JSON. */
export interface Compatibility {
  readonly standing: Standing['standing'];
  /** As a phrase: `with this version`. */
  readonly text: string;
  /** tokenctl's assumptions, by effect: what was seen, or the worst case if nothing was. */
  readonly effects: Readonly<Record<EffectName, { readonly outcome: string; readonly isKnown: boolean }>>;
}

/** How a target relates to the tested versions, and the consequences for each effect. */
export function compatibilityOf(target: VersionedTarget): Compatibility {
  const { standing, like } = standingOf(target);
  const found = Object.entries(effects).map(([name, { assumed }]) => {
    const { outcome } = knownEffect(name as EffectName, target);
    return [name, { outcome: outcome ?? assumed, isKnown: outcome !== null }] as const;
  });
  return {
    standing,
    text: standingText(target, standing, like),
    effects: Object.fromEntries(found) as unknown as Compatibility['effects'],
  };
}

function standingText(
  { dialect, version }: VersionedTarget,
  standing: Standing['standing'],
  like: readonly TriedId[],
): string {
  const names = TRIED.filter(({ id }) => like.includes(id)).map(({ name }) => name);
  switch (standing) {
    case 'tried':
      return dialect === 'service' ? `with ${OWN_SERVICE}` : 'with this version';
    case 'between':
      return `with the versions before and after this one: ${names.join(' and ')}`;
    case 'newer':
      return `not with this version, which is newer than all tested ones (the last: ${TRIED.findLast((each) => each.dialect === dialect)?.name})`;
    case 'older':
      return `not with this version, which is older than all tested ones (the first: ${TRIED.find((each) => each.dialect === dialect)?.name})`;
    case 'unknown':
      if (dialect === 'gateway')
        return 'with three layouts of gateways; this gateway does not report its version';
      // A role that was created before this right was documented.
      if (version === null)
        return 'unknown: no control node states a version, or the database role lacks GRANT SELECT (version, node_type) ON main_instance';
      return isOfPlatform({ dialect, version })
        ? `not with a platform's controller such as ${version}: the worst is assumed`
        : `not with version ${version}`;
  }
}

/** Whether it is a platform's automation controller: these count from 4. Their AWX versions are unknown. */
function isOfPlatform({ dialect, version }: VersionedTarget): boolean {
  return dialect === 'controller' && numbersOf(version)?.[0] === 4;
}

/**
 * The effects without any test result at a target, with the assumptions, as sentences. Empty for the
 * controller of a platform, which has none at all: its {@link Compatibility.text} says so.
 */
export function assumptions(target: VersionedTarget): readonly string[] {
  if (isOfPlatform(target)) return [];
  return Object.entries(effects).flatMap(([name, { what, assumed }]) =>
    knownEffect(name as EffectName, target).outcome === null ? [`${what} ${assumed}.`] : [],
  );
}
