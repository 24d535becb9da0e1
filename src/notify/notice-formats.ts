import type { Notice } from '../operations/ports/notifier.ts';

/** A notice for people: one line, and the rest. */
export interface NoticeText {
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
