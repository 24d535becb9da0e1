import { createHash, createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { exchange } from '@tokenctl/common/network/exchange.ts';
import { openOutgoing } from '@tokenctl/common/network/outgoing.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { readSettingUrl } from '@tokenctl/common/setting-url.ts';
import type { Dispatcher } from 'undici';
import type { Notice, Notifier } from '../operations/ports/notifier.ts';

export interface WebhookOptions {
  /** Knowing the URL is usually enough to post, so it is a secret. */
  readonly url: Secret;
  /** The signing key. Without it, requests are not signed. */
  readonly signingSecret?: Secret | undefined;
  /** Converts a notice to the JSON that the receiver expects; by default `id`, `type`, `timestamp` and `data`. */
  readonly encode?: (notice: Notice) => unknown;
  /** The timeout of one request, in milliseconds. */
  readonly timeoutMs?: number;
  /** The waits between attempts, in milliseconds. There is one attempt more than waits. */
  readonly pauses?: readonly number[];
}

const URL_SETTING = {
  name: 'The webhook URL',
  schemes: ['https:', 'http:'],
  hint: 'Use a URL that starts with https:// or http://.',
};

const TIMEOUT_MS = 10_000;
const PAUSES_MS: readonly number[] = [500, 2_000, 5_000];

/**
 * A webhook: posts each notice as JSON (`id`, `type`, `timestamp`, `data`), with the headers of Standard
 * Webhooks (`webhook-id`, `webhook-timestamp`, `webhook-signature`: HMAC-SHA256 of `id.timestamp.body`, in
 * Base64 after `v1,`). Any 2xx accepts the notice. Broken connections, 429 and 5xx are retried; redirects are
 * not followed. Takes less than a minute in total.
 * @throws TokenctlError `configuration` for an invalid URL.
 */
export function openWebhook(options: WebhookOptions): Notifier {
  const { url } = readSettingUrl(options.url.reveal(), URL_SETTING);
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const { dispatcher: agent, answeredBy } = openOutgoing(url, {
    connect: { timeout: timeoutMs },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  const once = (notice: Notice) =>
    post(notice, {
      ...{ url, answeredBy },
      timeoutMs,
      agent,
      signingSecret: options.signingSecret,
      encode: options.encode ?? plain,
    });
  return {
    name: `webhook ${url.host} ${createHash('sha256').update(url.href).digest('hex').slice(0, 12)}`,
    async send(notice) {
      let failure: Failure | null = null;
      for (const pause of [0, ...(options.pauses ?? PAUSES_MS)]) {
        if (pause > 0) await sleep(pause);
        failure = await once(notice);
        if (failure === null) return;
        if (!failure.isTemporary) break;
      }
      if (failure !== null) throw failure.error;
    },
    close: () => agent.destroy(),
  };
}

/** Why a notice was not accepted, and whether a retry may help. */
interface Failure {
  readonly error: TokenctlError;
  readonly isTemporary: boolean;
}

async function post(
  notice: Notice,
  to: {
    url: URL;
    answeredBy: (host: string) => string;
    timeoutMs: number;
    agent: Dispatcher;
    signingSecret: Secret | undefined;
    encode: (notice: Notice) => unknown;
  },
): Promise<Failure | null> {
  const { url, timeoutMs, agent } = to;
  const body = JSON.stringify(to.encode(notice));
  try {
    const answer = await exchange(url, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...signed(notice.id, body, to.signingSecret) },
      dispatcher: agent,
      signal: AbortSignal.timeout(timeoutMs),
      ...{ maxBytes: 65_536, cut: true },
    });
    return failureFor(answer.status, to.answeredBy(`The webhook at ${url.host}`));
  } catch (cause) {
    const error =
      cause instanceof TokenctlError
        ? cause
        : new TokenctlError('target_unreachable', `The webhook at ${url.host} could not be reached`, {
            cause,
          });
    return { error, isTemporary: true };
  }
}

function plain({ id, type, at, data }: Notice): unknown {
  return { id, type, timestamp: at.toISOString(), data };
}

function failureFor(status: number, answerer: string): Failure | null {
  if (status >= 200 && status < 300) return null;
  const refused = status === 401 || status === 403;
  // RFC 9110 §15.5.9 and RFC 6585 §4: the same request may be accepted later.
  const isTemporary = status === 408 || status === 429 || status >= 500;
  const code = refused ? 'permission_refused' : 'target_misbehaved';
  const error = new TokenctlError(
    isTemporary ? 'target_unreachable' : code,
    `${answerer} answered ${status}`,
    refused ? { hint: 'Check the address and the signing secret.' } : {},
  );
  return { error, isTemporary };
}

/** The timestamp is that of this attempt, because receivers refuse old ones. */
function signed(id: string, body: string, secret: Secret | undefined): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secret === undefined) return headers;
  const signature = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { ...headers, 'webhook-signature': `v1,${signature}` };
}

/** A secret of Standard Webhooks is `whsec_` and Base64. Any other text is the key itself. */
function keyOf(secret: Secret): Buffer {
  const text = secret.reveal();
  return text.startsWith('whsec_') ? Buffer.from(text.slice(6), 'base64') : Buffer.from(text, 'utf8');
}
