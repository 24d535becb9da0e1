import { setTimeout as sleep } from 'node:timers/promises';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Notice, Notifier } from '../operations/ports/notifier.ts';

/** The text of a notice: its own if it has one, else its type and its data. */
export function noticeText({ type, data }: Notice): { subject: string; text: string } {
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

/** A notice for incoming webhooks of Slack, Mattermost and Rocket.Chat: the text, and the same in blocks. */
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

/** The three special characters in Slack's text: a description must not become a link or a mention. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

export interface NoticeQueueOptions {
  readonly notifier: Notifier;
  /** Called once for each notice, with the error of the last attempt if it was abandoned. */
  readonly onResult: (result: 'delivered' | 'abandoned', error: unknown) => void;
  /** The waits between attempts, in milliseconds. A notifier may retry a few times within each. */
  readonly pauses?: readonly number[];
}

/** Two hours in total. */
const PAUSES_MS: readonly number[] = [30_000, 120_000, 600_000, 1_800_000, 4_800_000];

/** The length of the queue. Further notices are dropped. */
const MAX_WAITING = 1000;

/** Sends notices in the background, in order. Drops a permanently refused one. Reports failures to `onResult`. */
export class NoticeQueue {
  readonly #options: NoticeQueueOptions;
  readonly #waiting: Notice[] = [];
  readonly #closing = new AbortController();
  #busy: Promise<void> | null = null;

  constructor(options: NoticeQueueOptions) {
    this.#options = options;
  }

  /** Adds a notice and returns at once. */
  tell(notice: Notice): void {
    if (this.#waiting.length >= MAX_WAITING) {
      this.#options.onResult('abandoned', new Error('the notice queue is full'));
      return;
    }
    this.#waiting.push(notice);
    this.#busy ??= this.#deliver().finally(() => {
      this.#busy = null;
    });
  }

  /**
   * Retries each waiting notice once, without pauses, and closes the connections. After one that could not be
   * delivered, the others are abandoned: an unresponsive recipient would block the program for the timeout of each.
   */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#busy;
    await this.#options.notifier.close();
  }

  async #deliver(): Promise<void> {
    for (let notice = this.#waiting[0]; notice !== undefined; notice = this.#waiting[0]) {
      const error = await this.#send(notice);
      this.#waiting.shift();
      this.#options.onResult(error === null ? 'delivered' : 'abandoned', error);
      if (this.#closing.signal.aborted && isUnreachable(error)) {
        for (const _abandoned of this.#waiting.splice(0)) this.#options.onResult('abandoned', error);
      }
    }
  }

  /** @returns the error of the last attempt; null if the notice was delivered */
  async #send(notice: Notice): Promise<unknown> {
    let failure: unknown = null;
    for (const pause of [0, ...(this.#options.pauses ?? PAUSES_MS)]) {
      if (pause > 0 && this.#closing.signal.aborted) break;
      if (pause > 0) await sleep(pause, undefined, { signal: this.#closing.signal }).catch(() => undefined);
      try {
        await this.#options.notifier.send(notice);
        return null;
      } catch (error) {
        failure = error;
        if (!isUnreachable(error)) break;
      }
    }
    return failure;
  }
}

function isUnreachable(error: unknown): boolean {
  return error instanceof TokenctlError && error.code === 'target_unreachable';
}
