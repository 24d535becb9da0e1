import { TokenctlError } from '@tokenctl/common/errors.ts';
import { DATABASE_FILE_CONTEXT, ENVIRONMENT_CONTEXT } from '../config/schema.ts';
import { shellWord } from '../domain/remedies.ts';
import type { Result } from '../reports/result.ts';

/** Commands that work in a context, between backticks or at the end of a text. Those of a configuration, a log or a plan do not. */
const COMMANDS =
  /(?<=`|: )tokenctl (?:tokens|incident (?!runbook)|users|applications|settings|sessions|refresh-tokens|context check|whoami)[^`]*(?=`|$)/g;

/** The same text, whose commands name the context: pasted, they then do what they did here, whatever the current context is. */
function namingContext(text: string, context: string | undefined): string {
  // These two are no names that --context takes everywhere.
  if (context === undefined || context === ENVIRONMENT_CONTEXT || context === DATABASE_FILE_CONTEXT)
    return text;
  return text.replaceAll(COMMANDS, (command) =>
    / --(?:context|database-file|all-contexts)\b/.test(command)
      ? command
      : `${command} --context ${shellWord(context)}`,
  );
}

/** The same error, whose hint names the context in its commands. Errors of other kinds stay as they are. */
export function errorNamingContext(error: unknown, context: string | undefined): unknown {
  if (!(error instanceof TokenctlError) || error.constructor !== TokenctlError) return error;
  const { code, message, hint, cause, details } = error;
  const named = hint === undefined ? undefined : namingContext(hint, context);
  if (named === hint) return error;
  const same = new TokenctlError(code, message, { hint: named, cause, details });
  if (error.stack !== undefined) same.stack = error.stack;
  return same;
}

/** The same result, whose failure names the context in its commands. */
export function resultNamingContext<Of extends Result>(result: Of, context: string | undefined): Of {
  const { failure } = result;
  if (failure === undefined) return result;
  const named =
    typeof failure === 'function'
      ? () => errorNamingContext(failure(), context)
      : errorNamingContext(failure, context);
  return { ...result, failure: named };
}
