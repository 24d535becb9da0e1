import type { TokenctlError } from '@tokenctl/common/errors.ts';
import { type Document, documentText } from './document.ts';
import type { Listing } from './tables/listing.ts';
import type { Screen } from './tables/text.ts';

/** A change in numbers, for the table of several contexts. */
export interface Amount {
  /** What is counted, in the singular. */
  readonly what: 'token' | 'session' | 'row' | 'step' | 'mail';
  readonly planned: number;
  /** Done now, or found done already. */
  readonly done: number;
  readonly dryRun?: boolean;
}

/**
 * One result: a JSON value, and how it reads. The schemas in docs/schemas are made from the `Json` of what
 * a command's `run` returns.
 */
export interface Report<Json = unknown> {
  readonly kind: 'report';
  /** The value for `--json`; a member that is undefined is left out, and a date is printed in ISO 8601. */
  readonly json: Json;
  /**
   * The text for people: finished lines, the last one with its line feed. Lines that are wider than the
   * terminal are broken, and the words for states get their colors, when it is printed.
   */
  readonly text: (screen: Screen) => string | Promise<string>;
  /** The text as data, where it was built from that: for a page that lays it out itself. */
  readonly document?: (() => Document) | undefined;
  /** The text is a document of its own (Markdown, a script), which is printed unchanged. */
  readonly verbatim?: boolean | undefined;
  /** What a change planned and did. */
  readonly amount?: Amount | undefined;
  /** Rows for `--csv`, where the command has that flag. */
  readonly csv?: Listing<unknown> | undefined;
  /** Says that not all is well although there is a result; it decides the exit code. */
  readonly failure?: TokenctlError | undefined;
}

/** A document in a format of its own, which is written as it comes because it may be too large to be held. */
export interface Streamed<Json = unknown> {
  readonly kind: 'streamed';
  /** Never set: the type of what is printed with `--json`. */
  readonly json?: Json;
  /** What the pieces make together: one JSON value, or text. */
  readonly makes: 'json' | 'text';
  /** The text, in pieces; finished lines of our own, in which everything from outside is printable. */
  readonly chunks: (screen: Screen) => AsyncIterable<string>;
  /** Asked after the last piece: as of {@link Report.failure}. */
  readonly failure?: (() => TokenctlError | undefined) | undefined;
}

/** In JSON, what a command reports of a change, made or not made. */
export type MaybeMade<Report> = { readonly [Name in keyof Report]: Report[Name] | null };

/** What a command's `run` returns. The base class prints it in the format asked for. */
export type Result<Json = unknown> =
  | Report<Json>
  | Streamed<Json>
  | (unknown extends Json
      ? Listing<unknown>
      : Json extends readonly (infer Item)[]
        ? Listing<unknown, Item>
        : never);

/** Builds a {@link Report} from its text, or from a document, which a terminal shows as {@link documentText} lays it out. */
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
