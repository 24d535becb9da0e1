import type { TokenctlError } from '@tokenctl/common/errors.ts';
import { type Document, documentText } from './document.ts';
import type { Listing } from './tables/listing.ts';
import type { Screen } from './tables/text.ts';

/** The counts of a change, for the table of several contexts. */
export interface Amount {
  /** The counted unit, in the singular. */
  readonly what: 'token' | 'session' | 'row' | 'step' | 'mail';
  readonly planned: number;
  /** Done now, or found to be done already. */
  readonly done: number;
  readonly dryRun?: boolean;
}

/** One result: a JSON value, and its text. The build generates docs/schemas from the `Json` of `run`. */
export interface Report<Json = unknown> {
  readonly kind: 'report';
  /** The value for `--json`; undefined members are omitted, and dates are printed in ISO 8601. */
  readonly json: Json;
  /**
   * The text for display: finished lines, the last one with its line feed. When printed, lines wider than the
   * terminal are broken, and words for states get their colors.
   */
  readonly text: (screen: Screen) => string | Promise<string>;
  /** The text as data, if it was built from that: for a page with its own layout. */
  readonly document?: (() => Document) | undefined;
  /** The text is a document of its own (Markdown, a script), printed unchanged. */
  readonly verbatim?: boolean | undefined;
  readonly amount?: Amount | undefined;
  /** Rows for `--csv`, if the command has that flag. */
  readonly csv?: Listing<unknown> | undefined;
  /** A failure in spite of the result; it decides the exit code. */
  readonly failure?: TokenctlError | undefined;
}

/** A document in its own format, written as it arrives because it may be too large for memory. */
export interface Streamed<Json = unknown> {
  readonly kind: 'streamed';
  /** Never set: the type of the output with `--json`. */
  readonly json?: Json;
  /** What the pieces form together: one JSON value, or text. */
  readonly makes: 'json' | 'text';
  /** The text in pieces: our own finished lines, in which all external text is printable. */
  readonly chunks: (screen: Screen) => AsyncIterable<string>;
  /** Called after the last piece: as {@link Report.failure}. */
  readonly failure?: (() => TokenctlError | undefined) | undefined;
}

/** A change's report in JSON, with null members if it was not made. */
export type MaybeMade<Report> = { readonly [Name in keyof Report]: Report[Name] | null };

/** What a command's `run` returns. The base class prints it in the requested format. */
export type Result<Json = unknown> =
  | Report<Json>
  | Streamed<Json>
  | (unknown extends Json
      ? Listing<unknown>
      : Json extends readonly (infer Item)[]
        ? Listing<unknown, Item>
        : never);

/** Builds a {@link Report} from text, or from a document, which terminals show as {@link documentText}. */
export function report<Json>(
  parts: Omit<Report<Json>, 'kind' | 'text' | 'document'> &
    (Pick<Report<Json>, 'text'> | { readonly document: Document | (() => Document) }),
): Report<Json> {
  if ('text' in parts) return { kind: 'report', ...parts };
  const { document, ...others } = parts;
  const made = () => (typeof document === 'function' ? document() : document);
  const text = ({ paint }: Screen) => documentText(made(), paint);
  return { kind: 'report', ...others, text, document: made };
}
