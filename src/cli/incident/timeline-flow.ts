import type { Runtime } from '../../app/runtime.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { type TimelineSubject, timeline } from '../../operations/incident/timeline.ts';
import type { Report } from '../../reports/result.ts';
import { tellOfDue } from './due-notice.ts';
import { type TimelineFormat, timelineResult } from './timeline-result.ts';

/** What a timeline is asked for with. */
export interface TimelineRequest {
  readonly runtime: Runtime;
  readonly user: string | undefined;
  readonly tokenId: number | undefined;
  readonly since: Date;
  readonly until: Date;
  readonly format: TimelineFormat;
}

/**
 * Makes sure that the timelines of several contexts can stand in one document.
 *
 * @throws TokenctlError `usage`.
 */
export function requireMergeable(format: TimelineFormat): void {
  if (format !== 'html') return;
  throw new TokenctlError('usage', 'An HTML document holds the timeline of one context', {
    hint: 'Use --format markdown, or name one context.',
  });
}

/**
 * Reads a timeline and presents it.
 *
 * @throws TokenctlError `usage`, and whatever the operation throws.
 */
export async function timelineFlow(request: TimelineRequest): Promise<Report> {
  const { runtime, since, until, format } = request;
  const subject = subjectOf(request);
  const description = await runtime.description();
  const target = await runtime.target();
  const log = await runtime.auditLog();
  const items = await timeline({ target, description, log, subject, since, until });
  await tellOfDue(runtime);
  return timelineResult(items, { description, subject, since, until, format });
}

function subjectOf({ user, tokenId }: TimelineRequest): TimelineSubject {
  if (user !== undefined) return { user };
  if (tokenId !== undefined) return { tokenId };
  throw new TokenctlError('usage', 'A timeline is of a user or of a token', {
    hint: 'Give --user NAME or --token NUMBER.',
  });
}
