import { createHash, createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { TokenctlError } from '../domain/errors.ts';
import type { Secret } from '../domain/secret.ts';
import type { Notice, Notifier } from '../operations/ports/notifier.ts';

/** Where to, and how to prove that it is us. */
export interface WebhookOptions {
  /** The address. Whoever knows it can usually post there: a secret. */
  readonly url: Secret;
  /** What the receiver verifies signatures with; without it, nothing is signed. */
  readonly signingSecret?: Secret | undefined;
  /** What the receiver understands: a notice as it is, where not given, or what else is made of it. */
  readonly encode?: (notice: Notice) => unknown;
  /** How long an answer may take, in milliseconds. */
  readonly patience?: number;
  /** Waits between attempts, in milliseconds; one attempt more than there are waits. */
  readonly pauses?: readonly number[];
}

const PATIENCE = 10_000;
const PAUSES: readonly number[] = [500, 2_000, 5_000];

/**
 * A webhook: posts each notice as JSON (`id`, `type`, `timestamp`, `data`), with the headers of Standard
 * Webhooks (`webhook-id`, `webhook-timestamp`, `webhook-signature`: HMAC-SHA256 of `id.timestamp.body`, in
 * Base64 after `v1,`). Any 2xx takes it. Broken connections, 429 and 5xx are tried again; redirects are not
 * followed. Takes less than a minute whatever the receiver does.
 *
 * @throws TokenctlError `configuration` for an address that is none.
 */
export function openWebhook(options: WebhookOptions): Notifier {
  const url = addressOf(options.url);
  const patience = options.patience ?? PATIENCE;
  const agent = new Agent({
    connect: { timeout: patience },
    headersTimeout: patience,
    bodyTimeout: patience,
  });
  const once = (notice: Notice) =>
    post(notice, {
      url,
      patience,
      agent,
      signingSecret: options.signingSecret,
      encode: options.encode ?? plain,
    });
  return {
    name: `webhook ${url.host} ${createHash('sha256').update(url.href).digest('hex').slice(0, 12)}`,
    async send(notice) {
      let failure: Failure | null = null;
      for (const pause of [0, ...(options.pauses ?? PAUSES)]) {
        if (pause > 0) await sleep(pause);
        failure = await once(notice);
        if (failure === null) return;
        if (!failure.passes) break;
      }
      if (failure !== null) throw failure.error;
    },
    close: () => agent.destroy(),
  };
}

/** Why a notice was not taken, and whether trying again may help. */
interface Failure {
  readonly error: TokenctlError;
  readonly passes: boolean;
}

async function post(
  notice: Notice,
  to: {
    url: URL;
    patience: number;
    agent: Agent;
    signingSecret: Secret | undefined;
    encode: (notice: Notice) => unknown;
  },
): Promise<Failure | null> {
  const { url, patience, agent } = to;
  const body = JSON.stringify(to.encode(notice));
  try {
    const answer = await request(url, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...signed(notice.id, body, to.signingSecret) },
      dispatcher: agent,
      signal: AbortSignal.timeout(patience),
    });
    await answer.body.dump({ limit: 65_536 });
    return judged(answer.statusCode, url.host);
  } catch (cause) {
    const error = new TokenctlError('target_unreachable', `The webhook at ${url.host} could not be reached`, {
      cause,
    });
    return { error, passes: true };
  }
}

/** A notice as it is. */
function plain({ id, type, at, data }: Notice): unknown {
  return { id, type, timestamp: at.toISOString(), data };
}

function judged(status: number, host: string): Failure | null {
  if (status >= 200 && status < 300) return null;
  const refused = status === 401 || status === 403;
  const error = new TokenctlError(
    refused ? 'permission_refused' : 'target_misbehaved',
    `The webhook at ${host} answered ${status}`,
    refused ? { hint: 'Check the address and the signing secret.' } : {},
  );
  return { error, passes: status === 429 || status >= 500 };
}

/** The time is that of this attempt: receivers refuse what is old. */
function signed(id: string, body: string, secret: Secret | undefined): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secret === undefined) return headers;
  const signature = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { ...headers, 'webhook-signature': `v1,${signature}` };
}

/** Standard Webhooks write a secret as `whsec_` and Base64; any other text is the key as it stands. */
function keyOf(secret: Secret): Buffer {
  const text = secret.reveal();
  return text.startsWith('whsec_') ? Buffer.from(text.slice(6), 'base64') : Buffer.from(text, 'utf8');
}

function addressOf(url: Secret): URL {
  const parsed = URL.canParse(url.reveal()) ? new URL(url.reveal()) : null;
  if (parsed !== null && (parsed.protocol === 'https:' || parsed.protocol === 'http:')) return parsed;
  throw new TokenctlError(
    'configuration',
    'The address of the webhook is none: it starts with https:// or http://',
  );
}
