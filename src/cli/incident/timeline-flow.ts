import type { Runtime } from '../../app/runtime.ts';
import { incompleteText, type Visibility } from '../../domain/claims.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { type TimelineItem, type TimelineSubject, timeline } from '../../operations/incident/timeline.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { html, PAGE_END, pageStart } from '../../reports/html.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { countText, printable, timeText } from '../../reports/tables/text.ts';
import { tellOfDue } from './incident-text.ts';

/** What `incident timeline` prints with `--json`. */
export interface TimelineJson {
  readonly subject: TimelineSubject;
  readonly since: Date;
  readonly until: Date;
  readonly visibility: Visibility;
  readonly items: readonly TimelineItem[];
}

export interface TimelineRequest {
  readonly runtime: Runtime;
  readonly user: string | undefined;
  readonly tokenId: number | undefined;
  readonly since: Date;
  readonly until: Date;
  readonly format: TimelineFormat;
}

/**
 * Rejects HTML for several contexts: their timelines do not fit in one document.
 *
 * @throws TokenctlError `usage`.
 */
export function requireMergeable(format: TimelineFormat): void {
  if (format !== 'html') return;
  throw new TokenctlError('usage', 'HTML supports one context only', {
    hint: 'Use --format markdown, or select one context.',
  });
}

/**
 * Reads a timeline and formats it.
 *
 * @throws TokenctlError `usage`, and the errors of the operation.
 */
export async function timelineFlow(request: TimelineRequest): Promise<Report<TimelineJson>> {
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
  throw new TokenctlError('usage', 'No user or token selected', {
    hint: 'Add --user NAME or --token NUMBER.',
  });
}

/** The output format of a timeline. */
export type TimelineFormat = 'text' | 'markdown' | 'html';

/** The heading data of a timeline. */
interface TimelineContext {
  readonly description: Pick<TargetDescription, 'context' | 'address' | 'identity' | 'visibility'>;
  readonly subject: TimelineSubject;
  readonly since: Date;
  readonly until: Date;
}

/** The result of `incident timeline`. */
function timelineResult(
  items: readonly TimelineItem[],
  context: TimelineContext & { readonly format: TimelineFormat },
): Report<TimelineJson> {
  const { subject, since, until, format, description } = context;
  return report({
    json: { subject, since, until, visibility: description.visibility, items },
    text: () => WRITERS[format](items, context),
    verbatim: format !== 'text',
  });
}

const WRITERS: Readonly<
  Record<TimelineFormat, (items: readonly TimelineItem[], context: TimelineContext) => string>
> = { text: asText, markdown: asMarkdown, html: asHtml };

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

/** What the timeline leaves out, as a sentence; nothing if the account sees all. */
function limitsOf({ description }: TimelineContext): string[] {
  const incomplete = incompleteText(description);
  return incomplete === null ? [] : [`${incomplete}.`];
}

/** The details of an item, as one phrase. */
function more({ data }: TimelineItem): string {
  return Object.entries(data)
    .filter(([name, value]) => name !== 'id' && value !== null && value !== undefined)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}

function asText(items: readonly TimelineItem[], context: TimelineContext): string {
  const lines = [
    `${printable.value(titleOf(context))}, ${whereOf(context)}: ${countText(items.length, 'entry', 'entries')}.`,
    ...limitsOf(context).map(printable.value),
    '',
    ...items.flatMap((item) => [
      `${timeText(item.at)}  ${SOURCES[item.source].padEnd(9)}  ${printable.value(item.who ?? '-').padEnd(12)}  ${printable.value(item.what)}`,
      ...(more(item) === '' ? [] : [`    ${printable.value(more(item))}`]),
    ]),
  ];
  return `${lines.join('\n')}\n`;
}

function asMarkdown(items: readonly TimelineItem[], context: TimelineContext): string {
  const lines = [
    `# ${cell(titleOf(context))}`,
    '',
    `${cell(whereOf(context))}. Times are UTC.`,
    ...limitsOf(context).flatMap((text) => ['', `**${cell(text)}**`]),
    '',
    '| time | source | who | what | details |',
    '|---|---|---|---|---|',
    ...items.map(
      (item) =>
        `| ${timeText(item.at)} | ${SOURCES[item.source]} | ${cell(item.who ?? '')} | ${cell(item.what)} | ${cell(more(item))} |`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

/** Escapes text for a Markdown table, because names may contain any characters. */
function cell(text: string): string {
  return printable.value(text).replace(/[\\`*_{}[\]<>#|~!]/g, (character) => `\\${character}`);
}

function asHtml(items: readonly TimelineItem[], context: TimelineContext): string {
  const rows = items.map(
    (item) =>
      `<tr><td class="fixed">${timeText(item.at)}</td><td class="fixed">${SOURCES[item.source]}</td><td>${html(item.who ?? '')}</td><td class="text">${html(item.what)}</td><td class="text">${html(more(item))}</td></tr>`,
  );
  return `${pageStart(titleOf(context))}<h1>${html(titleOf(context))}</h1>
<p class="muted">${html(whereOf(context))}. Times are UTC.</p>
${limitsOf(context)
  .map((text) => `<p><strong>${html(text)}</strong></p>\n`)
  .join(
    '',
  )}<div class="scroll"><table><thead><tr><th>Time</th><th>Source</th><th>Who</th><th>What</th><th>Details</th></tr></thead><tbody>
${rows.join('\n')}
</tbody></table></div>
${PAGE_END}`;
}
