import type { Audit, Baseline } from '../../domain/policy/judge.ts';
import type { TargetDescription } from './target.ts';

/** Where names come from: a file with one a line, or what a program prints so. */
export type NameSource =
  | { readonly file: string }
  /** The program and its arguments; no shell reads them. */
  | { readonly command: readonly string[] };

/** The files and programs that jobs use. Everything is written whole or not at all. */
export interface JobFiles {
  /**
   * Reads names, one a line; empty lines and those that begin with `#` are left out.
   *
   * @throws TokenctlError `configuration` where the file cannot be read, or the program fails.
   */
  names(source: NameSource, signal: AbortSignal): Promise<readonly string[]>;
  /** The text of a file; null if it does not exist. Throws `configuration` if it cannot be read. */
  read(path: string): Promise<string | null>;
  /** Throws `configuration` where it cannot be written. */
  replace(path: string, text: string): Promise<void>;
  /** The findings that are known; null where nothing was written yet. Throws `configuration`. */
  baseline(path: string): Promise<Baseline | null>;
  /** Writes the findings that are known from now on. Throws `configuration`. */
  writeBaseline(path: string, keys: readonly string[], now: Date): Promise<void>;
  /**
   * Writes an audit's findings in the format that the path's ending names: html, sarif, json or csv. Reads
   * the audit to its end. Throws `configuration`, and whatever the audit throws.
   */
  writeReport(path: string, audit: Audit, description: TargetDescription): Promise<void>;
}
