import { JSONParser } from '@streamparser/json';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { BrokenLines, type Piece, piecesOf, textOf } from './leaked-text.ts';
import { readMaskedReport } from './masked-reports.ts';
import {
  hidesValue,
  isGithubError,
  type LeakPlace,
  namedStrings,
  readFinding,
  readSarifResult,
  type ScannerFinding,
  type ScannerFormat,
  shownPlace,
} from './scanner-findings.ts';
import { hidesPacked } from './text-layers.ts';
import { findTokenValues, tokenValuesWithin } from './token-values.ts';

/** A value that may be a token, and where it was found. */
interface LeakedCandidate {
  readonly value: Secret;
  /** The first lines of the text that contain it, counted from 1. */
  readonly lines: readonly number[];
  /** The first places in a scanner's report. */
  readonly places: readonly LeakPlace[];
}

/** The contents of a scanner's report. */
interface ScannerReport {
  readonly format: ScannerFormat;
  readonly findings: number;
  /** Number of findings with an omitted or masked secret: they may or may not be tokens. */
  readonly hidden: number;
  /** The first places of such findings. */
  readonly hiddenPlaces: readonly LeakPlace[];
}

/** The contents of a text or a scanner's report that may include leaked tokens. */
export interface LeakedInput {
  readonly lines: number;
  /** Number of lines of a text with a masked or packed value: REDACTED, asterisks, a hash, gzip. */
  readonly hiddenLines: number;
  /** Null for a text. */
  readonly report: ScannerReport | null;
  readonly candidates: readonly LeakedCandidate[];
}

/** The maximum number of lines or places listed for a value. */
const MAX_PLACES = 5;
/** The maximum number of different values: all are kept in memory and searched for. */
const MAX_VALUES = 1_000_000;
/** A report must be recognized within this many characters. */
const MAX_HEAD = 4 * 1024 * 1024;
/** The maximum size of a finding in a report, in characters. */
const MAX_FINDING = 16 * 1024 * 1024;
/** The maximum number of a report's secrets to keep, in order to hide them in displayed places. */
const MAX_SECRETS = 100_000;

/**
 * Reads a text line by line, or a scanner's report finding by finding: gitleaks (JSON, SARIF), TruffleHog
 * (JSON lines), GitHub secret scanning (alerts of the REST API, webhooks) and SARIF. A report is recognized
 * by the shape of its first finding; everything else is text. UTF-8 or UTF-16. Memory grows only with the
 * values found.
 * @throws TokenctlError `usage` for a report that is invalid JSON or truncated, for JSON that ends before it
 * is recognized, for packed and binary data, for an error of GitHub's API, and for too many values. Errors
 * quote nothing from the input.
 */
export async function readLeaked(chunks: AsyncIterable<Uint8Array>): Promise<LeakedInput> {
  const pieces = piecesOf(textOf(chunks));
  const head: Piece[] = [];
  let length = 0;
  let readers: readonly ReportReader[] | null = null;
  for (;;) {
    const next = await pieces.next();
    if (next.done === true) break;
    head.push(next.value);
    length += next.value.text.length;
    readers ??= readersFor(next.value.text);
    readers = readers?.filter((reader) => reader.tries(next.value)) ?? null;
    const recognized = readers?.find(({ format }) => format !== null);
    if (recognized !== undefined) return await recognized.readAll(pieces);
    if (length > MAX_HEAD) readers = [];
    if (readers?.length === 0) break;
  }
  if (readers !== null && readers.length > 0 && readers.every((reader) => reader.isCutOff()))
    throw cutOff(head.at(-1));
  const text = new TextReader();
  for (const piece of head) text.read(piece);
  for await (const piece of pieces) text.read(piece);
  return text.result();
}

/** The values found so far, with the first places of each. */
class Candidates {
  readonly #byValue = new Map<string, { value: Secret; lines: number[]; places: LeakPlace[] }>();

  add(values: readonly Secret[], where: { readonly line?: number; readonly place?: LeakPlace }): void {
    for (const value of values) {
      const known = this.#byValue.get(value.reveal()) ?? { value, lines: [], places: [] };
      this.#byValue.set(value.reveal(), known);
      const { line, place } = where;
      if (line !== undefined && known.lines.length < MAX_PLACES && known.lines.at(-1) !== line) {
        known.lines.push(line);
      }
      if (place !== undefined && known.places.length < MAX_PLACES && !known.places.some(isSame(place))) {
        known.places.push(place);
      }
    }
    if (this.#byValue.size > MAX_VALUES) {
      throw new TokenctlError(
        'usage',
        `The input contains more than ${MAX_VALUES} values that may be tokens`,
        { hint: 'Split the input, and run the command for each part.' },
      );
    }
  }

  get size(): number {
    return this.#byValue.size;
  }

  /** All candidates, with places that contain none of these secrets. */
  list(secrets: ReadonlySet<string> = new Set()): readonly LeakedCandidate[] {
    return Array.from(this.#byValue.values(), ({ value, lines, places }) => ({
      value,
      lines,
      places: places.map((place) => shownPlace(place, secrets)),
    }));
  }
}

function isSame(a: LeakPlace): (b: LeakPlace) => boolean {
  return (b) => a.file === b.file && a.line === b.line && a.commit === b.commit && a.link === b.link;
}

class TextReader {
  readonly #found = new Candidates();
  #lines = 0;
  #hiddenLines = 0;
  readonly #broken = new BrokenLines();

  read({ text, line, before }: Piece): void {
    this.#lines = line;
    if (hidesValue(text) || hidesPacked(text)) this.#hiddenLines += 1;
    this.#found.add(findTokenValues(text), { line });
    const joined = before === '' ? this.#broken.join(text) : `${before}${text.slice(0, before.length)}`;
    if (joined !== null) this.#found.add(tokenValuesWithin(joined), { line });
  }

  result(): LeakedInput {
    return {
      lines: this.#lines,
      hiddenLines: this.#hiddenLines,
      report: null,
      candidates: this.#found.list(),
    };
  }
}

/** The position of findings in a document: array elements, SARIF results, or consecutive whole objects. */
type Layout = 'array' | 'objects' | 'sarif';
const PATHS: Readonly<Record<Layout, string>> = { array: '$.*', objects: '$', sarif: '$.runs.*.results.*' };

/** The readers for a document that starts like this; null unless it is a JSON array or object. */
function readersFor(start: string): readonly ReportReader[] | null {
  const [first] = start.trimStart();
  if (first === undefined) return null;
  const layouts: readonly Layout[] = first === '[' ? ['array'] : first === '{' ? ['sarif', 'objects'] : [];
  return layouts.map((layout) => new ReportReader(layout));
}

class ReportReader {
  /** Null until a finding is recognized. */
  format: ScannerFormat | null = null;
  readonly #layout: Layout;
  readonly #parser: JSONParser;
  readonly #found = new Candidates();
  readonly #secrets = new Set<string>();
  readonly #hiddenPlaces: LeakPlace[] = [];
  #findings = 0;
  #hidden = 0;
  #lines = 0;
  /** The characters since the last value. */
  #pending = 0;
  #isBroken = false;
  #isGithubError = false;

  constructor(layout: Layout) {
    this.#layout = layout;
    // The empty separator allows consecutive documents: lines of JSON, and pages of an API.
    this.#parser = new JSONParser({ paths: [PATHS[layout]], keepStack: false, separator: '' });
    this.#parser.onValue = ({ key, value }) => {
      this.#isGithubError ||= isGithubError(typeof key === 'string' ? { [key]: value } : value);
      this.#take(value);
    };
    this.#parser.onError = () => {
      this.#isBroken = true;
    };
  }

  /** Reads a piece; false if this is not a document of this layout. */
  tries({ text, line }: Piece): boolean {
    this.#lines = line;
    this.#pending += text.length;
    this.#parser.write(text);
    if (this.#isGithubError) {
      throw new TokenctlError('usage', 'The input is an error from the GitHub API instead of alerts', {
        hint: 'Run the request separately to see what is wrong. Secret scanning must be enabled, and you need permission to see its alerts.',
      });
    }
    return !this.#isBroken;
  }

  /** Whether the document read so far is incomplete. */
  isCutOff(): boolean {
    if (!this.#parser.isEnded) this.#parser.end();
    return this.#isBroken;
  }

  /** Reads the rest of a recognized report. */
  async readAll(pieces: AsyncIterable<Piece>): Promise<LeakedInput> {
    for await (const piece of pieces) {
      if (!this.tries(piece)) throw this.#broken('is not valid JSON');
      if (this.#pending > MAX_FINDING)
        throw this.#broken(`has a finding of more than ${MAX_FINDING} characters`);
    }
    if (this.isCutOff()) throw this.#broken('ends early');
    return this.#result();
  }

  #take(value: unknown): void {
    this.#pending = 0;
    const values = this.#layout === 'array' && Array.isArray(value) ? value : [value];
    for (const each of values) this.#takeOne(each);
  }

  #takeOne(value: unknown): void {
    const all = this.#layout === 'sarif' ? null : readMaskedReport(value);
    for (const { finding, fields } of all ?? []) {
      this.#takeFinding(finding);
      this.#search(fields, finding.place);
    }
    if (all !== null) this.format ??= all[0]?.finding.format ?? 'other';
    const finding = this.#layout === 'sarif' ? readSarifResult(value) : readFinding(value);
    if (finding !== null) this.#takeFinding(finding);
    else if (this.#layout === 'objects' && isEmptySarif(value)) this.format ??= 'sarif';
    this.#search(value, finding?.place);
  }

  #search(value: unknown, place: LeakPlace | undefined): void {
    for (const text of namedStrings(value))
      this.#found.add(tokenValuesWithin(text), { ...(place && { place }) });
  }

  #takeFinding(finding: ScannerFinding): void {
    this.format ??= finding.format;
    this.#count(finding);
  }

  #count({ hidden, place, secrets }: ScannerFinding): void {
    this.#findings += 1;
    for (const secret of secrets) if (this.#secrets.size <= MAX_SECRETS) this.#secrets.add(secret);
    if (!hidden) return;
    this.#hidden += 1;
    if (this.#hiddenPlaces.length < MAX_PLACES) this.#hiddenPlaces.push(place);
  }

  #result(): LeakedInput {
    const format = this.format ?? 'sarif';
    return {
      lines: this.#lines,
      hiddenLines: 0,
      report: {
        format,
        findings: this.#findings,
        hidden: this.#hidden,
        hiddenPlaces: this.#hiddenPlaces.map((place) => shownPlace(place, this.#secrets)),
      },
      candidates: this.#found.list(this.#secrets),
    };
  }

  #broken(what: string): TokenctlError {
    const after = `after ${this.#findings} ${this.#findings === 1 ? 'finding' : 'findings'}`;
    return new TokenctlError(
      'usage',
      `The ${NAMES[this.format ?? 'sarif']} ${what}, in line ${this.#lines}, ${after}`,
      { hint: WRITE_AGAIN },
    );
  }
}

const WRITE_AGAIN = 'Run the scanner again: that run may have failed.';

/** A report may be truncated in its first finding, before it is recognized: tokens may be missing. */
function cutOff(last: Piece | undefined): TokenctlError {
  return new TokenctlError('usage', `The input is JSON that ends prematurely, in line ${last?.line ?? 1}`, {
    hint: WRITE_AGAIN,
  });
}

/** The display name of each report. */
export const NAMES: Readonly<Record<ScannerFormat, string>> = {
  gitleaks: 'gitleaks report',
  trufflehog: 'TruffleHog report',
  github: 'GitHub secret scanning report',
  sarif: 'SARIF report',
  trivy: 'Trivy report',
  semgrep: 'Semgrep report',
  'detect-secrets': 'baseline of detect-secrets',
  ggshield: 'ggshield report',
  checkov: 'Checkov report',
  gitlab: 'GitLab secret detection report',
  other: "scanner's report",
};

const SEARCH_FILES =
  'Search the files themselves: `cat FILE | tokenctl tokens find --leaked -`, or `git log -p --all` for a history.';

/** What to do about a text with masked values. */
export const WITH_VALUES = `Configure the program that wrote it to show the values. ${SEARCH_FILES}`;

/** The option that makes each scanner include secrets. */
export const WITH_SECRETS: Readonly<Record<ScannerFormat, string>> = {
  gitleaks: 'Run gitleaks without --redact.',
  trufflehog: 'Use the output of `trufflehog --json`.',
  github:
    'Webhooks carry no secrets. Read the alerts with `gh api --paginate repos/OWNER/REPO/secret-scanning/alerts`, without hide_secret.',
  sarif: "Use the scanner's JSON report: gitleaks without --redact, or `trufflehog --json`.",
  trivy: `Trivy always masks. ${SEARCH_FILES}`,
  semgrep: `Run \`semgrep login\` first. ${SEARCH_FILES}`,
  'detect-secrets': `A baseline contains only hashes. Use the output of \`detect-secrets audit --report\`. ${SEARCH_FILES}`,
  ggshield: 'Run `ggshield secret scan --show-secrets --json`.',
  checkov: `Checkov always masks. ${SEARCH_FILES}`,
  gitlab: SEARCH_FILES,
  other: SEARCH_FILES,
};

/** SARIF of a scan without findings: a result would have been recognized before. */
function isEmptySarif(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'runs' in value && 'version' in value;
}
