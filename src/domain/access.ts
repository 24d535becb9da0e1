/** The ways to get access, and how they are called. */
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

/** A way to get access. */
export type PathName = keyof typeof NAMES;

/** Whether one way in is closed, and what to do about it if not: the same in every plan, report and page. */
export interface AccessPath {
  readonly path: PathName;
  readonly state: 'closed' | 'open' | 'not_checked';
  /**
   * What the state rests on: `checked` was read or tried after the act by an account that sees everything
   * that it is about; `known` is what a target of this version does; anything else is not claimed.
   */
  readonly basis: 'checked' | 'known' | 'not_checked';
  /** Of what is known: the product and its version, as `controller 24.6.1`. */
  readonly version?: string;
  /** Whether the operation is to close it. What it is not to close leaves it complete. */
  readonly covered: boolean;
  /** How it was found out, or why not, as sentences. */
  readonly how: string;
  /** How many there are; absent where that is not known. */
  readonly count?: number;
  /**
   * When (RFC 3339) what was issued before the act has expired, or a setting is applied: then the path is
   * closed by itself. Of a path that is closed, until when undoing the act can open it again.
   */
  readonly until?: string | undefined;
  /** Of a plan: what was issued before the act expires after at most so many seconds. */
  readonly lifetime?: number;
  /** What to do about it: commands that do no more than the selection meant, or where to do it by hand. */
  readonly remedy?: string;
}

/** What the constructors below take in addition. */
type More = Pick<AccessPath, 'count' | 'until' | 'lifetime' | 'remedy'>;

/** A way in that was read or tried, and is closed. */
export function closedPath(path: PathName, how: string, more: More = {}): AccessPath {
  return { path, covered: true, state: 'closed', basis: 'checked', how, ...more };
}

/** A way in that was read or tried, and is open. */
export function openPath(path: PathName, how: string, more: More = {}): AccessPath {
  return { path, covered: true, state: 'open', basis: 'checked', how, ...more };
}

/** A way in that is known to be closed at targets of this version. */
export function knownClosedPath(path: PathName, version: string, how: string, more: More = {}): AccessPath {
  return { path, covered: true, state: 'closed', basis: 'known', version, how, ...more };
}

/** A way in that was not checked. */
export function uncheckedPath(path: PathName, how: string, more: More = {}): AccessPath {
  return { path, covered: true, state: 'not_checked', basis: 'not_checked', how, ...more };
}

/** The same ways in; those of these names are what the operation is to close, and no others. */
export function covering(paths: readonly AccessPath[], names: readonly PathName[]): readonly AccessPath[] {
  return paths.map((each) => ({ ...each, covered: names.includes(each.path) }));
}

/** The name of a way in, as the beginning of a sentence; one that this version does not know is named as it was recorded. */
export function pathName(path: string): string {
  const known: Readonly<Record<string, string>> = NAMES;
  return known[path] ?? path.replaceAll('_', ' ');
}

/** The names of ways in as a phrase, each once; empty for none. */
export function pathNames(paths: readonly { readonly path: string }[]): string {
  return [...new Set(paths.map(({ path }) => pathName(path).toLowerCase()))].join(', ');
}

/** Those that the operation was to close, and did not or could not check. */
export function leftOpen(paths: readonly AccessPath[]): readonly AccessPath[] {
  return paths.filter(({ state, covered }) => covered && state !== 'closed');
}

/** Those that the operation was to close, and that were not checked. */
export function uncheckedPaths<Path extends Pick<AccessPath, 'state' | 'covered'>>(
  paths: readonly Path[],
): readonly Path[] {
  return paths.filter(({ state, covered }) => covered && state === 'not_checked');
}

/**
 * What is left after an act: what was found of each way in that it was to close, with the remedy that the
 * plan names where it is not closed; and what the plan says of the others.
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

/** When what was issued by an instant has expired after so many seconds, in RFC 3339. */
export function lastsUntil(from: Date, seconds: number): string {
  return new Date(from.getTime() + seconds * 1000).toISOString();
}

/** How it was found out, or why not, and until when that is so. */
export function sentenceOf({ how, state, until }: AccessPath): string {
  if (until === undefined) return how;
  return state === 'closed'
    ? `${how} If this is undone before ${untilText(until)}, access may be possible again.`
    : `${how} This ends at ${untilText(until)} at the latest.`;
}

/** An instant as the end of a sentence about access, to the minute. It is rounded up: at that time, it is over. */
export function untilText(instant: string | Date): string {
  const minute = 60_000;
  const at = new Date(Math.ceil(new Date(instant).getTime() / minute) * minute);
  return `${at.toISOString().slice(0, 16)}Z`;
}

/** What the audit log has of a way in. */
export interface RecordedPath {
  readonly path: string;
  readonly state: AccessPath['state'];
  readonly covered: boolean;
  readonly count: number | null;
  readonly until: string | null;
}

/** The ways in as the outcome of an operation states them. */
export function recordOf(paths: readonly AccessPath[]) {
  return paths.map(({ path, state, covered, count, until }) => ({ path, state, covered, count, until }));
}

/**
 * The ways in that the outcome of an operation states. Earlier versions stated what was not covered in
 * `staysAlive` and `manualSteps`, by a name or a noun.
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
