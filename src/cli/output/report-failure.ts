import { IncompleteListing } from '../../reports/tables/listing.ts';
import { printable } from '../../reports/tables/text.ts';
import { failureOf, failureOnScreen, failureToJson, quietExit } from '../errors/failure.ts';
import { wantsTraceback } from '../flags/management-options.ts';
import { screenOf, wantsJson, writeTo } from './streams.ts';

/**
 * Prints an error and returns the exit code.
 *
 * In text mode it goes to stderr. With `--json` it is the document on stdout, so that a script finds a result
 * or an error there. After an incomplete list, the error goes to stderr and the array stays open, so that it
 * cannot be parsed.
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
    await writeEither([process.stderr], failureOnScreen(failure, screenOf(process.stderr)));
  }
  if (process.env['TOKENCTL_DEBUG'] === '1' || wantsTraceback(argv)) {
    await writeEither([process.stderr], traceOf(error));
  }
  return failure.exit;
}

/** Writes to the first stream that works; if none does, only the exit code is left. */
async function writeEither(streams: readonly NodeJS.WritableStream[], text: string): Promise<void> {
  for (const stream of streams) {
    try {
      await writeTo(stream, text);
      return;
    } catch {}
  }
}

/**
 * The stack of an error and of its causes, for TOKENCTL_DEBUG=1. Messages from outside may quote what
 * was sent, so anything that looks like a credential is redacted.
 */
export function traceOf(error: unknown): string {
  if (error instanceof Error && error.cause instanceof AggregateError) {
    return error.cause.errors.map(traceOf).join('');
  }
  const lines: string[] = [];
  for (let cause: unknown = error, depth = 0; cause instanceof Error && depth < 8; depth += 1) {
    lines.push(depth === 0 ? '' : 'caused by:', withoutCredentials(stackOf(cause)));
    cause = cause.cause;
  }
  return lines.length === 0 ? '\n(no stack: the thrown value is not an Error)\n' : `${lines.join('\n')}\n`;
}

/** The flag parser's messages quote the input, so only the stack frames of its errors are shown. */
function stackOf(error: Error): string {
  const stack = error.stack ?? error.message;
  return 'parse' in error ? `${error.constructor.name}\n${framesOf(stack)}` : stack;
}

function framesOf(stack: string): string {
  return stack
    .split('\n')
    .filter((line) => /^\s+at \S/.test(line))
    .join('\n');
}

const AUTHORIZATION = /\b(Bearer|Basic)\s+[^\s"',]+/gi;
const URL_CREDENTIALS = /(\b[a-z][a-z0-9+.-]*:\/\/)[^/\s@]+@/gi;
const ASSIGNMENT = /((?:token|password|secret|code|assertion)["']?\s*[=:]\s*["']?)[^\s"'&,}]+/gi;
/** The controller's tokens are 30 letters and digits; hashes and keys are longer. */
const OPAQUE = /\b[A-Za-z0-9_-]{28,}\b/g;

function withoutCredentials(text: string): string {
  return text
    .replace(AUTHORIZATION, '$1 [redacted]')
    .replace(URL_CREDENTIALS, '$1[redacted]@')
    .replace(ASSIGNMENT, '$1[redacted]')
    .replace(OPAQUE, '[redacted]');
}
