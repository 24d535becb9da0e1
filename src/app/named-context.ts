import { TokenctlError } from '@tokenctl/common/errors.ts';
import { DATABASE_FILE_CONTEXT, ENVIRONMENT_CONTEXT } from '../config/schema.ts';
import { shellWord } from '../domain/remedies.ts';
import type { Result } from '../reports/result.ts';

/** Commands that work in a context, between backticks or at the end of a text, so not those on a log or a plan. */
const COMMANDS =
  /(?<=`|: )tokenctl (?:tokens|incident (?!runbook)|users|applications|settings|sessions|refresh-tokens|context check|whoami)[^`]*(?=`|$)/g;

/** The same text with the context in its commands: pasted, they do the same, whatever the current context is. */
function namingContext(text: string, context: string | undefined): string {
  // These two are not names that --context accepts everywhere.
  if (context === undefined || context === ENVIRONMENT_CONTEXT || context === DATABASE_FILE_CONTEXT)
    return text;
  return text.replaceAll(COMMANDS, (command) =>
    / --(?:context|database-file|all-contexts)\b/.test(command)
      ? command
      : `${command} --context ${shellWord(context)}`,
  );
}

/** The same error with the context in the commands of its hint. Other kinds of errors are unchanged. */
export function errorNamingContext(error: unknown, context: string | undefined): unknown {
  if (!(error instanceof TokenctlError) || error.constructor !== TokenctlError) return error;
  const { code, message, hint, cause, details } = error;
  const named = hint === undefined ? undefined : namingContext(hint, context);
  if (named === hint) return error;
  const same = new TokenctlError(code, message, { hint: named, cause, details });
  if (error.stack !== undefined) same.stack = error.stack;
  return same;
}

/** The same result with the context in the commands of its failure. */
export function resultNamingContext<Of extends Result>(result: Of, context: string | undefined): Of {
  const { failure } = result;
  if (failure === undefined) return result;
  const named =
    typeof failure === 'function'
      ? () => errorNamingContext(failure(), context)
      : errorNamingContext(failure, context);
  return { ...result, failure: named };
}
