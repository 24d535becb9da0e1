import { createHash } from 'node:crypto';
import { codeOf, TokenctlError } from '@tokenctl/common/errors.ts';
import { directHint } from '@tokenctl/common/network/outgoing.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { readSettingUrl } from '@tokenctl/common/setting-url.ts';
import { createTransport, type SendMailOptions } from 'nodemailer';
import type { Mailer, Notifier } from '../operations/ports/notifier.ts';
import { noticeText } from './notices.ts';

export interface MailerOptions {
  /** `smtps://user:password@host:465`, or `smtp://host:587`, which must offer STARTTLS. */
  readonly server: Secret;
  readonly from: string;
  /** Allows plain text if the server offers no encryption: for a relay on this machine. */
  readonly allowPlain?: boolean;
  /** The timeout of a message in total, in milliseconds; by default 60,000. */
  readonly messageTimeoutMs?: number;
}

export interface EmailOptions extends MailerOptions {
  readonly to: readonly string[];
}

const SERVER_SETTING = {
  name: "The mail server's URL",
  schemes: ['smtp:', 'smtps:'],
  hint: 'Use a URL that starts with smtps:// or smtp://.',
};

/** How long a server may be silent, in milliseconds. */
const TIMEOUT_MS = 10_000;
/** The timeout of a message in total, in milliseconds: a server that sends a byte now and then is never silent. */
const MESSAGE_TIMEOUT_MS = 60_000;

/**
 * Sends each notice as an email by SMTP (RFC 5321). The Message-ID is derived from the notice's id, so that
 * mail programs show a notice that was sent twice only once.
 * @throws TokenctlError `configuration` for an invalid server URL.
 */
export function openEmail(options: EmailOptions): Notifier {
  const { from, to } = options;
  const { url, send, close } = openTransport(options);
  const receivers = createHash('sha256')
    .update([url.host, ...to].join(' '))
    .digest('hex')
    .slice(0, 12);
  return {
    name: `email ${url.host} ${receivers}`,
    async send(notice) {
      const { subject, text } = noticeText(notice);
      const messageId = messageIdOf(notice.id, from);
      try {
        await send({ from, to: [...to], subject, text, messageId, date: notice.at });
      } catch (cause) {
        throw failure(url.host, cause);
      }
    },
    close,
  };
}

/** Sends each mail to one recipient, whose address is never parsed as a list. Throws `configuration`. */
export function openMailer(options: MailerOptions): Mailer {
  const { from } = options;
  const { url, send, close } = openTransport(options);
  return {
    name: `email ${url.host}`,
    async send({ id, at, to, subject, text }) {
      const messageId = messageIdOf(id, from);
      // RFC 3834: no automatic replies.
      const headers = { 'Auto-Submitted': 'auto-generated' };
      try {
        const address = { name: '', address: to };
        await send({ from, to: address, subject, text, messageId, date: at, headers });
        return 'sent';
      } catch (cause) {
        if (isRecipientRefused(cause)) return 'refused';
        throw failure(url.host, cause);
      }
    },
    close,
  };
}

/** RFC 5322 §3.6.4: it ends with a domain of the sender. Filters distrust mail with another domain. */
function messageIdOf(id: string, from: string): string {
  const domain = /@([A-Za-z0-9.-]+)>?\s*$/.exec(from)?.[1] ?? 'tokenctl.invalid';
  return `<${id}@${domain}>`;
}

/** RFC 5321 §4.2.1: 5yz is a permanent refusal. After other commands, it concerns the sender or the message. */
function isRecipientRefused(cause: unknown): boolean {
  if (!(cause instanceof Error && 'responseCode' in cause && 'command' in cause)) return false;
  return cause.command === 'RCPT TO' && Number(cause.responseCode) >= 500;
}

/** One connection per message: `send` ends when the message is accepted or times out, and closes it. */
function openTransport(options: MailerOptions) {
  const { messageTimeoutMs = MESSAGE_TIMEOUT_MS } = options;
  const { url, host, port, username, password } = readSettingUrl(options.server.reveal(), SERVER_SETTING);
  const transport = createTransport({
    host,
    port: port ?? (url.protocol === 'smtps:' ? 465 : 587),
    secure: url.protocol === 'smtps:',
    requireTLS: options.allowPlain !== true,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    ...(username !== '' && { auth: { user: username, pass: password } }),
  });
  return {
    url,
    send: (mail: SendMailOptions) =>
      transport.sendMail({ ...mail, signal: AbortSignal.timeout(messageTimeoutMs) }),
    close: async () => transport.close(),
  };
}

function failure(host: string, cause: unknown): TokenctlError {
  const code = codeOf(cause) ?? 'unknown';
  const reply = cause instanceof Error && 'responseCode' in cause ? Number(cause.responseCode) : null;
  // RFC 5321 §4.2.1: 4yz is a transient refusal, such as greylisting.
  if (reply !== null && reply >= 400 && reply < 500) {
    return new TokenctlError(
      'target_unreachable',
      `The mail server at ${host} is not accepting the message now (${reply})`,
      { cause },
    );
  }
  if (code === 'EAUTH') {
    return new TokenctlError('permission_refused', `The mail server at ${host} rejected the credentials`, {
      cause,
    });
  }
  if (code === 'ETIMEDOUT') {
    return new TokenctlError(
      'target_unreachable',
      `The mail server at ${host} did not respond within ${TIMEOUT_MS / 1000} seconds`,
      { hint: directHint('SMTP'), cause },
    );
  }
  if (code === 'EABORT') {
    return new TokenctlError(
      'target_unreachable',
      `The mail server at ${host} did not accept the message in time, so it may or may not deliver it`,
      { cause },
    );
  }
  const refused = code === 'EENVELOPE' || code === 'EMESSAGE';
  return refused
    ? new TokenctlError('target_misbehaved', `The mail server at ${host} rejected the message (${code})`, {
        cause,
      })
    : new TokenctlError('target_unreachable', `The mail server at ${host} could not be reached (${code})`, {
        hint: directHint('SMTP'),
        cause,
      });
}
