import { isDeepStrictEqual } from 'node:util';
import { jsonOrNull } from '@tokenctl/common/text.ts';
import { parseDocument } from 'yaml';
import { isMasked, isReference, isSameValue, referenceId } from './recorded-values.ts';

/** One or several uninterrupted changes of a field by the actor: raw values, which may be secrets. */
export interface FieldEdit {
  /** The first activity stream entry, with the value before. */
  readonly entry: number;
  readonly last: number;
  /** Undefined for a field of a created object, and for the default of a setting. */
  readonly before: unknown;
  readonly after: unknown;
  /** Whether the value before is the default of a setting, as the target knows it. */
  readonly isDefault?: true;
}

/** Longer text is compared by line and not parsed as JSON. In characters. */
const MAX_LENGTH = 200_000;
/** The same for YAML, which takes a hundred times as long; the intruder chooses the text. */
const MAX_YAML = 20_000;
/** The maximum number of YAML aliases to resolve: a few lines of them can expand to gigabytes. */
const MAX_ALIASES = 20;
/** The maximum depth to which a value is split. */
const MAX_DEPTH = 20;
/** A text with deeper values is compared by line. */
const MAX_NESTED = 100;

/** Fields with several values in one text, and their separators. */
const SEPARATED: Readonly<Record<string, RegExp>> = {
  redirect_uris: /\s+/,
  post_logout_redirect_uris: /\s+/,
  allowed_origins: /\s+/,
  job_tags: /,/,
  skip_tags: /,/,
  limit: /[,:]/,
};
/** Among these, removing a value allows more: a host or a task is no longer excluded. */
const NEEDED: ReadonlySet<string> = new Set(['limit', 'skip_tags']);

/** The parts of a value that can be changed separately. */
interface Parts {
  /**
   * `map`: entries by path. `list`: members or lines. `words`: the same, where a missing one means nothing.
   * `single`: a value that is replaced as a whole.
   */
  readonly shape: 'map' | 'list' | 'words' | 'single';
  /** By path. A member of a list has no value, and a single value no path. */
  readonly entries: ReadonlyMap<string, string>;
}

/** What is left of an actor's changes of a field. */
type Left = 'none' | 'some' | 'undecided';

/**
 * What is left now of an actor's changes of a field, although others may have changed other parts of it
 * since: lines of a text, members of a list, entries of a map.
 * @param edits The actor's changes, by entry. Others' changes may lie between them.
 * @returns `none`: nothing that the actor added is there, and nothing that the actor removed is missing.
 * `some`: something that the actor added is there, or an entry of a map that the actor removed is missing.
 * `undecided`: nothing that was added is there; lines or members that the actor removed are missing, which
 * someone may have intended since. A list without anything in common with the actor's was rewritten.
 */
export function leftOf(field: string, edits: readonly FieldEdit[], current: unknown): Left {
  const parts = partsIn(field, edits, current);
  const now = parts(current);
  const sides = edits.map(({ before, after }) => ({ old: parts(before), made: parts(after) }));
  const texts = netChange(sides.map(({ old, made }) => [textsOf(old), textsOf(made)]));
  const paths = netChange(sides.map(({ old, made }) => [pathsOf(old), pathsOf(made)]));
  const present = textsOf(now);
  if ([...texts.putIn].some((part) => present.has(part))) return 'some';
  if ([...paths.takenOut].some((path) => !pathsOf(now).has(path))) return 'some';
  const last = sides.at(-1);
  if (last === undefined || isNew(now, last.made)) return 'none';
  const lists = sides.filter(({ old }) => old.shape === 'list');
  const isMissing = (part: string) => lists.some(({ old }) => textsOf(old).has(part)) && !present.has(part);
  return [...texts.takenOut].some(isMissing) ? 'undecided' : 'none';
}

export function inOrder(edits: readonly FieldEdit[]): readonly FieldEdit[] {
  return edits.toSorted((a, b) => a.entry - b.entry);
}

/** Changes by entry, merged if uninterrupted: each begins with the value that the previous one left. */
export function uninterrupted(field: string, edits: readonly FieldEdit[]): readonly FieldEdit[] {
  const runs: FieldEdit[] = [];
  for (const edit of inOrder(edits)) {
    const last = runs.at(-1);
    if (last !== undefined && isContinued(field, last, edit))
      runs[runs.length - 1] = { ...last, last: edit.last, after: edit.after };
    else runs.push(edit);
  }
  return runs;
}

function isContinued(field: string, { after }: FieldEdit, { before }: FieldEdit): boolean {
  return isMasked(after) || isMasked(before)
    ? isMasked(after) && isMasked(before)
    : isSameValue(field, after, before);
}

/** Whether a list has nothing in common with an earlier one. */
function isNew(now: Parts, { shape, entries }: Parts): boolean {
  const isList = shape !== 'single' || entries.size === 0;
  return isList && now.entries.size > 0 && ![...now.entries.keys()].some((path) => entries.has(path));
}

/**
 * What is left now of the actor's decisions although others changed the same field between its changes. An
 * actor who reverts another user's repair adds no value, but what is there is the actor's work.
 * @param between Others' changes between the actor's first and last one.
 * @returns As {@link leftOf}.
 */
export function leftOver(
  field: string,
  { edits, between }: { edits: readonly FieldEdit[]; between: readonly FieldEdit[] },
  current: unknown,
): Left {
  if (between.length === 0) return 'none';
  const own = new Set(edits);
  const [first, ...rest] = [...edits, ...between].sort((a, b) => a.entry - b.entry);
  if (first === undefined) return 'none';
  const parts = partsIn(field, [...edits, ...between], current);
  const before = parts(first.before);
  const without = new Map(before.entries);
  let left = parts(first.after);
  for (const edit of rest) {
    const [old, made] = [parts(edit.before), parts(edit.after)];
    // A change without an entry counts as others' work.
    change(without, left.entries, old.entries);
    if (!own.has(edit)) change(without, old.entries, made.entries);
    left = made;
  }
  const now = parts(current);
  const decided = [...new Set([...without.keys(), ...left.entries.keys()])].filter(
    (path) =>
      without.get(path) !== left.entries.get(path) && left.entries.get(path) === now.entries.get(path),
  );
  if (decided.length === 0) return 'none';
  const { shape } = left.entries.size > 0 ? left : before;
  if (shape === 'map' || shape === 'single' || decided.some((path) => now.entries.has(path))) return 'some';
  return shape === 'list' && !isNew(now, left) ? 'undecided' : 'none';
}

/** Changes parts as one value was changed to another. */
function change(parts: Map<string, string>, from: Parts['entries'], to: Parts['entries']): void {
  for (const path of new Set([...from.keys(), ...to.keys()])) {
    const value = to.get(path);
    if (from.get(path) === value) continue;
    if (value === undefined) parts.delete(path);
    else parts.set(path, value);
  }
}

function textsOf({ entries }: Parts): ReadonlySet<string> {
  return new Set([...entries].map(([path, value]) => `${path}=${value}`));
}

function pathsOf({ shape, entries }: Parts): ReadonlySet<string> {
  return new Set(shape === 'map' ? entries.keys() : []);
}

/** What the actor's changes added and removed, without what they reverted themselves. */
function netChange(changes: readonly (readonly [old: ReadonlySet<string>, made: ReadonlySet<string>])[]) {
  const [putIn, takenOut] = [new Set<string>(), new Set<string>()];
  for (const [old, made] of changes) {
    for (const each of made) if (!old.has(each) && !takenOut.delete(each)) putIn.add(each);
    for (const each of old) if (!made.has(each) && !putIn.delete(each)) takenOut.add(each);
  }
  return { putIn, takenOut };
}

/** Reads all values of a field in the same way: by line if one is too long for any other way. */
function partsIn(field: string, edits: readonly FieldEdit[], current: unknown): (value: unknown) => Parts {
  const values = [current, ...edits.flatMap(({ before, after }) => [before, after])];
  const isUnread = (value: unknown) =>
    typeof value === 'string' && value.length > MAX_YAML && structured(value) === value;
  const asLines = !isReference(field) && SEPARATED[field] === undefined && values.some(isUnread);
  return (value) => (asLines && typeof value === 'string' ? list(value.split('\n')) : partsOf(field, value));
}

function partsOf(field: string, value: unknown): Parts {
  if (isReference(field) || value === null || value === undefined || value === '')
    return single(field, value);
  const separator = SEPARATED[field];
  if (separator !== undefined && typeof value === 'string')
    return { ...list(value.split(separator)), shape: NEEDED.has(field) ? 'list' : 'words' };
  const plain = typeof value === 'string' ? structured(value) : value;
  if (Array.isArray(plain)) return list(plain.map((each) => JSON.stringify(sorted(each, 0))));
  if (typeof plain === 'object' && plain !== null) {
    const entries = new Map<string, string>();
    addEntries(entries, '', plain, 0);
    return { shape: 'map', entries };
  }
  return typeof plain === 'string' && plain.includes('\n') ? list(plain.split('\n')) : single(field, plain);
}

function single(field: string, value: unknown): Parts {
  const isNothing = value === null || value === undefined || value === '' || value === '---';
  const text = isReference(field) ? String(referenceId(value)) : JSON.stringify(value);
  return { shape: 'single', entries: new Map(isNothing ? [] : [['', text]]) };
}

function list(members: readonly string[]): Parts {
  const parts = members.map((each) => each.trim()).filter((each) => each !== '' && each !== '---');
  return { shape: 'list', entries: new Map(parts.map((each) => [each, ''])) };
}

/**
 * Whether two values are the same JSON or YAML in another notation. List order counts, key order does not.
 */
export function isSameContent(first: unknown, second: unknown): boolean {
  const [one, other] = [first, second].map((value) =>
    typeof value === 'string' ? structured(value) : value,
  );
  return typeof one === 'object' && one !== null && isDeepStrictEqual(one, other);
}

/** Controllers read these with PyYAML, but here they are not maps or lists. */
const OTHER_TAGS = ['binary', 'omap', 'pairs', 'set', 'timestamp'].map((name) => `tag:yaml.org,2002:${name}`);

/** The map or list in a text of JSON or YAML, both of which the API accepts; otherwise the text. */
function structured(text: string): unknown {
  if (text.length > MAX_LENGTH || !/[:{[]|^\s*-/m.test(text)) return text;
  const value = jsonOrNull(text) ?? (text.length > MAX_YAML ? null : readYaml(text));
  return typeof value === 'object' && value !== null && !isDeeper(value, MAX_NESTED) ? value : text;
}

function readYaml(text: string): unknown {
  try {
    const document = parseDocument(text, {
      logLevel: 'silent',
      uniqueKeys: false,
      // Creating error texts takes time quadratic in their number.
      prettyErrors: false,
      // Controllers and Ansible read YAML 1.1: `no` is false, and "no" is a text.
      version: '1.1',
      customTags: (tags) => tags.filter((each) => typeof each === 'string' || !OTHER_TAGS.includes(each.tag)),
    });
    return document.errors.length > 0 ? null : document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch {
    return null;
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}

function addEntries(entries: Map<string, string>, path: string, value: object, depth: number): void {
  for (const [key, each] of Object.entries(value)) {
    const at = `${path}/${key.replaceAll('/', '~1')}`;
    const isMap = typeof each === 'object' && each !== null && !Array.isArray(each);
    if (isMap && depth < MAX_DEPTH && Object.keys(each).length > 0) addEntries(entries, at, each, depth + 1);
    else if (Array.isArray(each)) for (const member of each) entries.set(`${at}[${text(member)}]`, '');
    else entries.set(at, text(each));
  }
}

function text(value: unknown): string {
  return JSON.stringify(sorted(value, 0)) ?? 'null';
}

/** The same value with sorted keys. */
function sorted(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((each) => sorted(each, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, sorted(each, depth + 1)]),
  );
}
