import { z } from 'zod';
import type { Entry } from '../operations/ports/audit-log.ts';

/** What ties an entry to the entries before it. */
export interface Links extends Pick<Entry, 'seq' | 'previous' | 'kind'> {
  readonly closes?: number | undefined;
  /** The list of open intents as JSON. */
  readonly open: string;
}

// Canonical JSON (RFC 8785) as patterns, for lines that are read as latin1: bytes from 0x80 on are parts of UTF-8.
const CHARACTERS = String.raw`[^"\\\x00-\x1f]*`;
const ESCAPE = String.raw`\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f]))`;
const TEXT = `"${CHARACTERS}(?:${ESCAPE}${CHARACTERS})*"`;
const FILLED_TEXT = `(?!"")${TEXT}`;
/** Up to 15 digits, which all readers read as the same number. A count in braces takes twice the time. */
const DIGITS = `[1-9]${'(?:\\d'.repeat(14)}${')?'.repeat(14)}`;
const COUNT = `(?:${DIGITS}|0)`;
const NUMBER = `(?:-?${DIGITS}|0)`;
const INSTANT = z.regexes.datetime({ precision: 3 }).source.slice(1, -1);

/** How many different forms are learned, and of what size: what others write must not cost time or stack without end. */
const MAX_OPERATIONS = 100;
const MAX_FORMS = 16;
const MAX_LENGTH = 4_000;
const MAX_DEPTH = 8;
const MAX_LINE = 65_536;
const NEVER = '(?!)';
/** To compile a form takes as long as to parse so many entries: a log of few entries is parsed. */
const PARSED_PER_FORM = 250;

/**
 * Reads the links of entries without parsing them, which takes a fraction of the time. A program writes few forms of entries for
 * each operation: each form is learned from an entry that was parsed and checked, and a line of a learned form is surely a valid
 * entry in canonical form. Lines are as `latin1` reads them, and their bytes are UTF-8.
 */
export class EntryForms {
  readonly #ofOperations = new Map<string, OperationForms>();
  readonly #parsedPerForm: number;

  /** @param parsedPerForm After how many entries of a form it is known. */
  constructor(parsedPerForm = PARSED_PER_FORM) {
    this.#parsedPerForm = parsedPerForm;
  }

  /** The links of a line; null for one that has to be parsed. `previous` can be another text than a hash. */
  read(line: string): Links | null {
    if (line.length > MAX_LINE) return null;
    const found = this.#ofOperations.get(operationIn(line))?.pattern.exec(line);
    if (found == null) return null;
    const [, closes, kind, open = '', previous = '', seq] = found;
    return {
      seq: Number(seq),
      previous,
      kind: kind as Entry['kind'],
      closes: closes === undefined ? closes : Number(closes),
      open,
    };
  }

  /** Learns the form of a valid entry in canonical form. Lines of its form are known once that pays. */
  learn(entry: Entry): void {
    const known = this.#ofOperations.get(entry.operation);
    if (known === undefined && this.#ofOperations.size === MAX_OPERATIONS) return;
    const forms = known ?? new OperationForms(this.#parsedPerForm);
    if (known === undefined) this.#ofOperations.set(entry.operation, forms);
    forms.learn(entry);
  }
}

const OPERATION = '"operation":"';

/** The operation of a line, which tells which pattern to try; the pattern decides. */
function operationIn(line: string): string {
  const start = line.lastIndexOf(OPERATION) + OPERATION.length;
  return line.slice(start, line.indexOf('"', start));
}

/** The forms of the entries of one operation. */
class OperationForms {
  readonly #learned = { actor: new Set<string>(), data: new Set<string>(), target: new Set<string>() };
  pattern = new RegExp(NEVER);
  /** How many forms the pattern has, and how many entries were parsed since it was made. */
  #size = 0;
  #parsed = 0;
  readonly #parsedPerForm: number;

  constructor(parsedPerForm: number) {
    this.#parsedPerForm = parsedPerForm;
  }

  learn(entry: Entry): void {
    this.#parsed += 1;
    this.#add(entry);
    const { actor, data, target } = this.#learned;
    const size = actor.size + data.size + target.size;
    if (size === this.#size || this.#parsed < this.#parsedPerForm * size) return;
    this.#size = size;
    this.#parsed = 0;
    this.pattern = new RegExp(
      `^{"actor":${oneOf(actor)},"at":"${INSTANT}",(?:"closes":(${COUNT}),)?"data":${oneOf(data)},"kind":"(intent|outcome|note)","open":(${listOf(COUNT)}),"operation":${FILLED_TEXT},"previous":"([^"]*)","run":${FILLED_TEXT},"seq":(${DIGITS}),"target":${oneOf(target)},"v":1}$`,
    );
  }

  #add(entry: Entry): void {
    for (const name of ['actor', 'data', 'target'] as const) {
      const forms = this.#learned[name];
      const form = formOf(entry[name]);
      if (forms.has(form)) continue;
      if (forms.size === MAX_FORMS || form.length > MAX_LENGTH) return;
      forms.add(form);
    }
  }
}

/** A pattern for values with the same keys and kinds of values. Of a list it takes the first element for all. */
function formOf(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) return NEVER;
  if (typeof value === 'string') return TEXT;
  if (typeof value === 'number') return NUMBER;
  if (typeof value !== 'object' || value === null) return '(?:true|false|null)';
  if (Array.isArray(value)) return listOf(value.length === 0 ? NUMBER : formOf(value[0], depth + 1));
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([key, member]) => `${literal(key)}:${formOf(member, depth + 1)}`).join(',')}}`;
}

function literal(key: string): string {
  return Buffer.from(JSON.stringify(key))
    .toString('latin1')
    .replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function listOf(element: string): string {
  return `\\[(?:${element}(?:,${element})*)?\\]`;
}

function oneOf(forms: ReadonlySet<string>): string {
  return `(?:${[...forms].join('|')})`;
}
