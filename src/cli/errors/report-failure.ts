import { IncompleteListing } from '../../reports/listing.ts';
import { printable } from '../../reports/printable.ts';
import { wantsJson } from '../json-mode.ts';
import { writeTo } from '../output/streams.ts';
import { failureOf, failureToJson, failureToText, quietExit } from './failure.ts';

/**
 * Tells the user about an error and returns the exit code.
 *
 * People read it on stderr. With `--json` it is the one document on stdout, so that a script finds
 * either a result or an error there; only where part of a list already stands on stdout, the error
 * goes to stderr and the list is left unclosed, so that nothing can take it for the whole.
 */
export async function reportFailure(thrown: unknown, argv: readonly string[]): Promise<number> {
  const quiet = quietExit(thrown);
  if (quiet !== undefined) return quiet;
  const incomplete = thrown instanceof IncompleteListing;
  const error = incomplete ? thrown.cause : thrown;
  const failure = failureOf(error);
  if (wantsJson(argv)) {
    const document = `${printable.lines(JSON.stringify(failureToJson(failure), null, 2))}\n`;
    await writeEither(incomplete ? [process.stderr] : [process.stdout, process.stderr], document);
  } else {
    await writeEither([process.stderr], printable.lines(failureToText(failure)));
  }
  if (process.env['TOKENCTL_DEBUG'] === '1') {
    const { traceOf } = await import('./debug-trace.ts');
    await writeEither([process.stderr], traceOf(error));
  }
  return failure.exit;
}

/** Writes to the first stream that takes it. Where none does, the exit code is all that can be said. */
async function writeEither(streams: readonly NodeJS.WritableStream[], text: string): Promise<void> {
  for (const stream of streams) {
    try {
      await writeTo(stream, text);
      return;
    } catch {}
  }
}
