/**
 * Parses Ansible's output line by line: plays, tasks and host results of its default callback. A line from a
 * playbook's own text that looks like one of them counts as one, which only affects what the page shows.
 */

export type Result = 'ok' | 'changed' | 'skipped' | 'failed' | 'unreachable' | 'ignored' | 'rescued';

/** The result of a task on a host, or of one item of a loop there. */
export interface TaskResult {
  readonly play: string;
  readonly task: string;
  readonly host: string;
  readonly result: Result;
  /** The item of a loop, and the task's message. */
  readonly text: string;
  /** The line number, from 0. */
  readonly line: number;
}

/** The counts of a host at the end of the output. */
export interface HostSummary {
  readonly host: string;
  readonly counts: Readonly<Record<Count, number>>;
  /** The worst result on this host. */
  readonly result: Result;
}

const COUNTS = ['ok', 'changed', 'unreachable', 'failed', 'skipped', 'rescued', 'ignored'] as const;

const NONE = Object.fromEntries(COUNTS.map((name) => [name, 0])) as Readonly<Record<Count, number>>;

type Count = (typeof COUNTS)[number];

/** The kind of a line, for its color. One letter each, so that the kinds of many lines are one text. */
export const LINE_KINDS = {
  h: 'heading',
  o: 'ok',
  c: 'changed',
  s: 'skipped',
  f: 'failed',
  w: 'warning',
  ' ': 'plain',
} as const;

type LineKind = keyof typeof LINE_KINDS;

const KIND_OF: Readonly<Record<Result, LineKind>> = {
  ok: 'o',
  changed: 'c',
  skipped: 's',
  failed: 'f',
  unreachable: 'f',
  ignored: 's',
  rescued: 'o',
};

export interface PlaybookOutput {
  readonly lines: readonly string[];
  /** The kind of each line: a key of {@link LINE_KINDS}. */
  readonly kinds: string;
  readonly results: readonly TaskResult[];
  /** The hosts of the recap, which exists once the playbook has ended. */
  readonly hosts: readonly HostSummary[];
}

const HEADING =
  /^(PLAY|TASK|RUNNING HANDLER|PLAY RECAP|NO MORE HOSTS LEFT|USING HANDLER)(?: \[(.*)\])? \*+\s*$/;
const ON_HOST = /^(ok|changed|skipping|failed|fatal|rescued|included): \[([^\]]+?)(?: -> [^\]]+)?\](.*)$/;
/** The text after the host: the kind of failure, an item, and the values, or the brace before them. */
const VALUES = /^(?:: [A-Z]+!)?(.*?)(?: => (\{.*))?$/;
const WARNING = /^\[(?:WARNING|DEPRECATION WARNING|ERROR)\]|^ERROR! /;
const RECAP = /^(\S+)\s+: ((?:[a-z]+=\d+\s*)+)$/;

/** Parses the output of a playbook, including an unfinished one. */
export function readPlaybookOutput(text: string): PlaybookOutput {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const reader = new Reader();
  const kinds = lines.map((line, number) => reader.read(line, number)).join('');
  return { lines, kinds, results: reader.results, hosts: reader.hosts };
}

/** The hosts of an output: those of the recap, or before it those with results so far. */
export function hostsOf(props: Pick<PlaybookOutput, 'hosts' | 'results'>): readonly HostSummary[] {
  const { hosts, results } = props;
  if (hosts.length > 0) return hosts;
  const counted = new Map<string, Record<Count, number>>();
  for (const { host, result } of results) {
    const counts = counted.get(host) ?? ({ ...NONE } as Record<Count, number>);
    counts[result] += 1;
    counted.set(host, counts);
  }
  return [...counted].map(([host, counts]) => ({ host, counts, result: worstOf(counts) }));
}

class Reader {
  readonly results: TaskResult[] = [];
  readonly hosts: HostSummary[] = [];
  #play = '';
  #task = '';
  #isRecap = false;
  /** The kind of the result whose values are being read. */
  #kind: LineKind = ' ';
  /** Whether these values are on separate lines, and none was used for the text yet. */
  #isOpen = false;

  read(line: string, number: number): LineKind {
    if (line === '') return this.#ends(' ');
    const heading = HEADING.exec(line);
    if (heading !== null) return this.#heading(heading[1] ?? '', heading[2] ?? '');
    if (this.#isRecap) return this.#recap(line);
    if (line === '...ignoring') return this.#ignore();
    const onHost = ON_HOST.exec(line);
    if (onHost !== null) return this.#result(onHost, number);
    return WARNING.test(line) ? this.#ends('w') : this.#values(line);
  }

  #ends(kind: LineKind): LineKind {
    this.#kind = ' ';
    this.#isOpen = false;
    return kind;
  }

  #heading(what: string, name: string): LineKind {
    this.#isRecap = what === 'PLAY RECAP';
    if (what === 'PLAY') [this.#play, this.#task] = [name, ''];
    else if (what !== 'NO MORE HOSTS LEFT') this.#task = name;
    return this.#ends('h');
  }

  #result([, word = '', host = '', rest = '']: RegExpExecArray, line: number): LineKind {
    const result = resultOf(word, rest);
    const [, item = '', values = ''] = VALUES.exec(rest) ?? [];
    const text = withMessage(item.replace(/^ => /, '').trim(), messageOf(values));
    this.results.push({ play: this.#play, task: this.#task, host, result, text, line });
    this.#kind = KIND_OF[result];
    this.#isOpen = values === '{';
    return this.#kind;
  }

  /** A line below a result: part of its indented values, or other output of a task. */
  #values(line: string): LineKind {
    const last = this.results.at(-1);
    if (this.#kind === ' ' || last === undefined) return ' ';
    const value = this.#isOpen ? /^ {4}"msg": (.*?),?$/.exec(line)?.[1] : undefined;
    if (value !== undefined) {
      this.results[this.results.length - 1] = { ...last, text: withMessage(last.text, unquoted(value)) };
      this.#isOpen = false;
    }
    return this.#kind;
  }

  /** The playbook allows the previous failure. */
  #ignore(): LineKind {
    const last = this.results.at(-1);
    if (last?.result === 'failed') this.results[this.results.length - 1] = { ...last, result: 'ignored' };
    return this.#ends('s');
  }

  #recap(line: string): LineKind {
    const [, host, list = ''] = RECAP.exec(line) ?? [];
    if (host === undefined) return ' ';
    const given = new Map(
      [...list.matchAll(/([a-z]+)=(\d+)/g)].map(([, name = '', count]) => [name, Number(count)]),
    );
    const counts = { ...NONE, ...Object.fromEntries(COUNTS.map((name) => [name, given.get(name) ?? 0])) };
    const result = worstOf(counts);
    this.hosts.push({ host, counts, result });
    return KIND_OF[result];
  }
}

function resultOf(word: string, rest: string): Result {
  if (word === 'fatal' || word === 'failed')
    return rest.startsWith(': UNREACHABLE!') ? 'unreachable' : 'failed';
  if (word === 'skipping') return 'skipped';
  return word === 'changed' || word === 'rescued' ? word : 'ok';
}

function worstOf(counts: Readonly<Record<Count, number>>): Result {
  for (const result of ['failed', 'unreachable', 'changed', 'ok'] as const)
    if (counts[result] > 0) return result;
  return 'skipped';
}

function withMessage(item: string, message: string): string {
  return [item, message].filter((part) => part !== '').join(': ');
}

function messageOf(values: string): string {
  if (values === '' || values === '{') return '';
  try {
    const { msg } = JSON.parse(values) as { readonly msg?: unknown };
    return msg === undefined ? '' : typeof msg === 'string' ? msg : JSON.stringify(msg);
  } catch {
    return values;
  }
}

function unquoted(value: string): string {
  try {
    const read: unknown = JSON.parse(value);
    return typeof read === 'string' ? read : value;
  } catch {
    return value;
  }
}

/** The numbers of the lines that contain a text, ignoring case. */
export function linesWith(lines: readonly string[], text: string): readonly number[] {
  const wanted = text.toLowerCase();
  if (wanted === '') return [];
  return lines.flatMap((line, number) => (line.toLowerCase().includes(wanted) ? [number] : []));
}

/** Splits a line: every second piece is the searched text, as written there. */
export function piecesOf(line: string, text: string): readonly string[] {
  const wanted = text.toLowerCase();
  const lower = line.toLowerCase();
  // A few letters have a different length in lowercase, so that positions differ.
  if (wanted === '' || lower.length !== line.length) return [line];
  const pieces: string[] = [];
  let from = 0;
  for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, from)) {
    pieces.push(line.slice(from, at), line.slice(at, at + wanted.length));
    from = at + wanted.length;
  }
  return [...pieces, line.slice(from)];
}
