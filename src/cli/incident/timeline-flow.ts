import { TokenctlError } from '@tokenctl/common/errors.ts';
import { incompleteText, type Visibility } from '../../domain/claims.ts';
import { type TimelineItem, type TimelineSubject, timeline } from '../../operations/incident/timeline.ts';
import { endOfNow } from '../../operations/ports/clock.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { type Document, lines, strong } from '../../reports/document.ts';
import { htmlDocument, markdownDocument } from '../../reports/document-formats.ts';
import { type Report, report } from '../../reports/result.ts';
import { countText, timeText } from '../../reports/tables/text.ts';
import type { FlagsOf } from '../flags/flags.ts';
import { instantOf } from '../flags/times.ts';
import { type ContextRun, requireOneContext } from '../multi-context/multi-context-flow.ts';
import type { timelineFlags } from './incident-flags.ts';
import { tellOfDue } from './incident-text.ts';
import { deedText, detailsText } from './timeline-text.ts';

/** What `incident timeline` prints with `--json`. */
export interface TimelineJson {
  readonly subject: TimelineSubject;
  readonly since: Date;
  readonly until: Date;
  readonly visibility: Visibility;
  readonly items: readonly TimelineItem[];
}

export interface TimelineRequest extends Pick<ContextRun, 'runtime' | 'context' | 'several'> {
  readonly flags: FlagsOf<typeof timelineFlags>;
}

export async function timelineFlow(request: TimelineRequest): Promise<Report<TimelineJson>> {
  const { runtime, flags, several } = request;
  const { format = 'text' } = flags;
  if (flags.token !== undefined) requireOneContext(request, '--token');
  if (several && format === 'html') {
    // Several timelines do not fit in one document.
    throw new TokenctlError('usage', 'HTML supports one context only', {
      hint: 'Use --format markdown, or select one context.',
    });
  }
  const subject = subjectOf(flags);
  const reading = await runtime.reading();
  const { description, clock } = reading;
  const now = clock.now();
  const since = instantOf(flags.since ?? { ago: 86_400_000 }, now);
  const until = flags.until === undefined ? endOfNow(clock, description) : instantOf(flags.until, now);
  const items = await timeline({ ...reading, subject, since, until });
  await tellOfDue(runtime);
  return timelineResult(items, { description, subject, since, until, format });
}

function subjectOf({ user, token }: TimelineRequest['flags']): TimelineSubject {
  if (user !== undefined) return { user };
  if (token !== undefined) return { tokenId: token };
  throw new TokenctlError('usage', 'No user or token selected', {
    hint: 'Add --user NAME or --token NUMBER.',
  });
}

/** The heading data of a timeline. */
interface TimelineContext extends Pick<TimelineJson, 'subject' | 'since' | 'until'> {
  readonly description: Pick<TargetDescription, 'context' | 'address' | 'identity' | 'visibility'>;
}

function timelineResult(
  items: readonly TimelineItem[],
  context: TimelineContext & { readonly format: 'text' | 'markdown' | 'html' },
): Report<TimelineJson> {
  const { subject, since, until, format, description } = context;
  const json = { subject, since, until, visibility: description.visibility, items };
  if (format === 'text') return report({ json, document: () => linesOf(items, context) });
  const pieces = () => {
    const document = [
      { kind: 'heading', level: 1, text: titleOf(context) } as const,
      ...documentOf(items, context, `${whereOf(context)}. Times are UTC.`),
    ];
    return format === 'html' ? htmlDocument(document, titleOf(context)) : markdownDocument(document);
  };
  const text = async () => (await Array.fromAsync(pieces())).join('');
  // Displayed with a separate title, and times in the viewer's zone.
  const document = () => documentOf(items, context, `${whereOf(context)}.`);
  return { ...report({ json, text, verbatim: true }), document };
}

const SOURCES: Readonly<Record<TimelineItem['source'], string>> = {
  activity_stream: 'activity',
  audit_log: 'audit log',
  token: 'token',
};

function titleOf({ subject }: TimelineContext): string {
  return 'user' in subject ? `Timeline of ${subject.user}` : `Timeline of token ${subject.tokenId}`;
}

function whereOf({ description, since, until }: TimelineContext): string {
  return `${description.address} (context ${description.context}), from ${timeText(since)} to ${timeText(until)}`;
}

/** What the timeline omits, as a sentence; empty if the account sees everything. */
function limitsOf({ description }: TimelineContext): string[] {
  const incomplete = incompleteText(description);
  return incomplete === null ? [] : [`${incomplete}.`];
}

function documentOf(items: readonly TimelineItem[], context: TimelineContext, where: string): Document {
  return [
    lines(where),
    ...limitsOf(context).map(strong),
    {
      kind: 'table',
      heads: ['Time', 'Source', 'Who', 'What', 'Details'],
      rows: items.map((item) => [
        timeText(item.at),
        SOURCES[item.source],
        item.who ?? '',
        deedText(item),
        detailsText(item),
      ]),
    },
  ];
}

/** For a terminal, which is too narrow for a table: the details are below each line. */
function linesOf(items: readonly TimelineItem[], context: TimelineContext): Document {
  return [
    lines(
      `${titleOf(context)}, ${whereOf(context)}: ${countText(items.length, 'entry', 'entries')}.`,
      limitsOf(context),
    ),
    lines(
      items.map((item) => [
        { columns: [timeText(item.at), SOURCES[item.source], item.who ?? '-', deedText(item)] },
        detailsText(item) !== '' && { text: detailsText(item), depth: 2 },
      ]),
    ),
  ];
}
