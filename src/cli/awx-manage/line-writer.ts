import { writeTo } from '../output/streams.ts';

/** Lines that are printed while work goes on. */
export interface LineWriter {
  /** Takes a line, without its line feed. */
  readonly line: (text: string) => void;
  /**
   * Writes what is left, and waits until all is written.
   *
   * @throws TokenctlError `partly_done` where something could not be written
   */
  readonly end: () => Promise<void>;
}

/** Characters gathered before they are written. */
const CHUNK = 16_384;

/**
 * Prints lines on stdout in larger pieces: a system call for each of a million lines would be most of the
 * work. A file, a pipe or a terminal takes each piece at once, so that none pile up.
 */
export function lineWriter(): LineWriter {
  let gathered = '';
  let failure: { readonly error: unknown } | null = null;
  let last: Promise<unknown> = Promise.resolve();
  const write = () => {
    last = writeTo(process.stdout, gathered).catch((error: unknown) => {
      failure ??= { error };
    });
    gathered = '';
  };
  return {
    line(text) {
      gathered += `${text}\n`;
      if (gathered.length >= CHUNK) write();
    },
    async end() {
      if (gathered !== '') write();
      await last;
      if (failure !== null) throw failure.error;
    },
  };
}
