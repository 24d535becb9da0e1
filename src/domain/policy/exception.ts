import { matchesGlob } from './glob.ts';
import { applicationOf, descriptionOf, ownerOf, type Subject } from './subject.ts';

/**
 * What a rule is not to find, and why. Criteria that are present must all hold; without one it is everything
 * that the rule finds. Each is a text exactly, or a pattern with `*` and `?`.
 */
export interface Exception {
  /** The owner's name. */
  readonly user?: string | undefined;
  /** The application's name. */
  readonly application?: string | undefined;
  /** The token's description. */
  readonly description?: string | undefined;
  /** The last day (UTC) on which it holds: `2026-12-31`. Without it, it holds for good. */
  readonly until?: string | undefined;
  readonly reason: string;
}

/** Whether an exception's last day is over. */
export function hasRunOut({ until }: Exception, now: Date): boolean {
  return until !== undefined && now.toISOString().slice(0, 10) > until;
}

/** Whether an exception is meant for a subject; not whether it still holds. */
export function isMeant(exception: Exception, subject: Subject): boolean {
  const { user, application, description } = exception;
  return (
    (user === undefined || matches(ownerOf(subject)?.username, user)) &&
    (application === undefined || matches(applicationOf(subject)?.name, application)) &&
    (description === undefined || matches(descriptionOf(subject), description))
  );
}

/** What is not there is not meant by any pattern, `*` included. */
function matches(text: string | null | undefined, pattern: string): boolean {
  return text !== null && text !== undefined && matchesGlob(text, pattern);
}
