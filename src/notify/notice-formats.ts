import type { Notice } from '../operations/ports/notifier.ts';

/** A notice for people: one line, and the rest. */
interface NoticeText {
  readonly subject: string;
  readonly text: string;
}

/** A notice in words: its own where it has some, else what kind it is and what it says. */
export function noticeText({ type, data }: Notice): NoticeText {
  const { subject, text, ...others } = data;
  if (typeof subject === 'string')
    return { subject, text: typeof text === 'string' ? text : linesOf(others) };
  return { subject: `tokenctl: ${type}`, text: linesOf(data) };
}

function linesOf(data: Readonly<Record<string, unknown>>): string {
  return Object.entries(data)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('\n');
}

/** Slack refuses a text block of more than 3,000 characters. */
const MAX_TEXT_LENGTH = 2900;

/**
 * A notice as Slack's incoming webhooks take it, and Mattermost's and Rocket.Chat's as well: the text for
 * where blocks are not shown, and the same in blocks.
 */
export function slackMessage(notice: Notice): unknown {
  const { subject, text } = noticeText(notice);
  const shown = text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
  return {
    text: escaped(subject),
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: `*${escaped(subject)}*` } },
      ...(shown === '' ? [] : [{ type: 'section', text: { type: 'plain_text', text: shown } }]),
    ],
  };
}

/** The three characters that mean something in Slack's text: a description must not become a link or a mention. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
