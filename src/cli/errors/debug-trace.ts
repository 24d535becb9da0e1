/**
 * The stack of an error and of its causes, for TOKENCTL_DEBUG=1. Messages from outside may quote what
 * was sent, so everything in them that looks like a credential is blotted out.
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
  return lines.length === 0 ? '\n(no stack: what was thrown is not an Error)\n' : `${lines.join('\n')}\n`;
}

/** The flag parser quotes what was typed: of its errors only the frames are shown. */
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
