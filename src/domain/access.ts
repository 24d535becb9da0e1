/** The access paths, with their display names. */
const NAMES = {
  access_tokens: 'Access tokens',
  revoked_token: 'A revoked token',
  requests: 'In-flight requests',
  authorization_codes: 'Authorization codes',
  refresh_tokens: 'Refresh tokens',
  sessions: 'Sessions',
  basic_authentication: 'Basic authentication',
  external_tokens: 'External tokens',
  users: 'Users',
  login: 'Logging in',
  passwords: 'Passwords',
  single_sign_on: 'Single sign-on',
  external_accounts: 'External accounts',
  roles: 'Roles',
  applications: 'Applications',
  token_lifetimes: 'The lifetime of new tokens',
  own_token: 'Your own token',
  workload_identity: 'Workload identity tokens',
  service_keys: 'Service keys',
  gateway: 'A platform gateway',
  controller: 'The controller behind the gateway',
} as const;

export type PathName = keyof typeof NAMES;

/** The state of an access path, and what to do if it is open: the same in every plan, report and page. */
export interface AccessPath {
  readonly path: PathName;
  readonly state: 'closed' | 'open' | 'not_checked';
  /**
   * The basis of the state. `checked`: read or tested after the act by an account that sees everything
   * concerned. `known`: the behavior of a target of this version. `not_checked`: no claim is made.
   */
  readonly basis: 'checked' | 'known' | 'not_checked';
  /** If `known`: the product and its version, such as `controller 24.6.1`. */
  readonly version?: string;
  /** Whether the operation should close it. Operations leave other paths unchanged. */
  readonly covered: boolean;
  /** The finding, or why it was not checked, as sentences. */
  readonly how: string;
  /** The number found; absent if unknown. */
  readonly count?: number;
  /**
   * When (RFC 3339) earlier credentials have expired or a setting is applied: the path then closes by itself.
   * For a closed path, until when undoing the act can reopen it.
   */
  readonly until?: string | undefined;
  /** In a plan: the maximum time until earlier credentials expire, in seconds. */
  readonly lifetime?: number;
  /** What to do about it: commands that do no more than the selection means, or where to do it manually. */
  readonly remedy?: string;
}

/** Optional arguments of the constructors below. */
type More = Pick<AccessPath, 'count' | 'until' | 'lifetime' | 'remedy'>;

/** An access path that was read or tested, and is closed. */
export function closedPath(path: PathName, how: string): AccessPath {
  return { path, covered: true, state: 'closed', basis: 'checked', how };
}

/** An access path that was read or tested, and is open. */
export function openPath(path: PathName, how: string, more: More = {}): AccessPath {
  return { path, covered: true, state: 'open', basis: 'checked', how, ...more };
}

/** An access path that is known to be closed at targets of this version. */
export function knownClosedPath(path: PathName, version: string, how: string, more: More = {}): AccessPath {
  return { path, covered: true, state: 'closed', basis: 'known', version, how, ...more };
}

export function uncheckedPath(path: PathName, how: string, more: More = {}): AccessPath {
  return { path, covered: true, state: 'not_checked', basis: 'not_checked', how, ...more };
}

/** The same access paths, with exactly these names marked as covered by the operation. */
export function covering(paths: readonly AccessPath[], names: readonly PathName[]): readonly AccessPath[] {
  return paths.map((each) => ({ ...each, covered: names.includes(each.path) }));
}

/** An access path's name, to start a sentence; one unknown to this version keeps its recorded name. */
export function pathName(path: string): string {
  const known: Readonly<Record<string, string>> = NAMES;
  return known[path] ?? path.replaceAll('_', ' ');
}

/** The distinct names of access paths as a phrase; empty for none. */
export function pathNames(paths: readonly { readonly path: string }[]): string {
  return [...new Set(paths.map(({ path }) => pathName(path).toLowerCase()))].join(', ');
}

/** Covered access paths that are open or could not be checked. */
export function leftOpen(paths: readonly AccessPath[]): readonly AccessPath[] {
  return paths.filter(({ state, covered }) => covered && state !== 'closed');
}

/** Covered access paths that were not checked. */
export function uncheckedPaths<Path extends Pick<AccessPath, 'state' | 'covered'>>(
  paths: readonly Path[],
): readonly Path[] {
  return paths.filter(({ state, covered }) => covered && state === 'not_checked');
}

/**
 * The access paths after an act: the finding for each covered path, with the plan's remedy if it is not
 * closed; and the plan's statement for the others.
 * @param now When the act ended: what it could not end expires that much later.
 */
export function afterAct(
  plan: readonly AccessPath[],
  found: readonly AccessPath[],
  now: Date,
): readonly AccessPath[] {
  const remedies = new Map(plan.map(({ path, remedy }) => [path, remedy]));
  return [
    ...found.map((each) => {
      const remedy = each.state === 'closed' ? undefined : (each.remedy ?? remedies.get(each.path));
      return remedy === undefined ? each : { ...each, remedy };
    }),
    ...plan.filter(({ covered }) => !covered).map((each) => dated(each, now)),
  ];
}

function dated({ lifetime, ...each }: AccessPath, now: Date): AccessPath {
  return lifetime === undefined ? each : { ...each, until: lastsUntil(now, lifetime) };
}

/** When credentials issued by an instant have expired, given their lifetime in seconds, in RFC 3339. */
export function lastsUntil(from: Date, seconds: number): string {
  return new Date(from.getTime() + seconds * 1000).toISOString();
}

/** The finding, or why it was not checked, and until when it applies. */
export function sentenceOf({ how, state, until }: AccessPath): string {
  if (until === undefined) return how;
  return state === 'closed'
    ? `${how} If this is undone before ${untilText(until)}, access may be possible again.`
    : `${how} This ends at ${untilText(until)} at the latest.`;
}

/** An instant at the end of a sentence about access, rounded up to the minute: by then, access has ended. */
export function untilText(instant: string | Date): string {
  const minute = 60_000;
  const at = new Date(Math.ceil(new Date(instant).getTime() / minute) * minute);
  return `${at.toISOString().slice(0, 16)}Z`;
}

/** An access path in the audit log. */
export interface RecordedPath {
  readonly path: string;
  readonly state: AccessPath['state'];
  readonly covered: boolean;
  readonly count: number | null;
  readonly until: string | null;
}

/** The access paths in the form of an operation's outcome. */
export function recordOf(paths: readonly AccessPath[]) {
  return paths.map(({ path, state, covered, count, until }) => ({ path, state, covered, count, until }));
}

/**
 * The access paths in an operation's outcome. Earlier versions recorded what was not covered in `staysAlive`
 * and `manualSteps`, by a name or a noun.
 */
export function recordedPaths(data: Readonly<Record<string, unknown>>): readonly RecordedPath[] {
  const listOf = (name: string) => (Array.isArray(data[name]) ? (data[name] as readonly unknown[]) : []);
  return [
    ...listOf('accessPaths').flatMap((each) => recorded(each, 'path', true)),
    ...listOf('staysAlive').flatMap((each) => recorded(each, 'what', false)),
    ...listOf('manualSteps').flatMap((each) => recorded(each, 'what', false)),
  ];
}

function recorded(value: unknown, key: 'path' | 'what', isCovered: boolean): readonly RecordedPath[] {
  const fields = typeof value === 'object' && value !== null ? value : { [key]: value };
  const { [key]: path, state, covered, count, until } = fields as Readonly<Record<string, unknown>>;
  if (typeof path !== 'string') return [];
  return [
    {
      path: path.replaceAll(' ', '_') in NAMES ? path.replaceAll(' ', '_') : path,
      state: state === 'closed' || state === 'open' ? state : 'not_checked',
      covered: typeof covered === 'boolean' ? covered : isCovered,
      count: typeof count === 'number' ? count : null,
      until: typeof until === 'string' ? until : null,
    },
  ];
}
