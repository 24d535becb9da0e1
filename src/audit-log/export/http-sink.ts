import { Agent, request } from 'undici';
import { TokenctlError } from '../../domain/errors.ts';
import type { Secret } from '../../domain/secret.ts';
import type { LogSink } from '../../operations/ports/log-sink.ts';
import { tooLate, unreachable } from './sink-failure.ts';

/** Where records are posted. */
export interface HttpSinkOptions {
  readonly name: string;
  readonly url: URL;
  /** The media type of a body of several records, a line each. */
  readonly contentType: string;
  /** The authority that signed the certificate, where it is not a public one. */
  readonly ca: string | undefined;
  /** Sent as a bearer token (RFC 6750). */
  readonly token: Secret | undefined;
  /** In milliseconds. */
  readonly patience: number;
}

/** Posts records, several in a body. Any 2xx takes them; redirects are not followed. */
export function httpSink(options: HttpSinkOptions): LogSink {
  const { name, url, contentType, ca, token, patience } = options;
  const agent = new Agent({ connect: { timeout: patience, ...(ca !== undefined && { ca }) } });
  return {
    name,
    async send(records) {
      try {
        const answer = await request(url, {
          method: 'POST',
          body: `${records.join('\n')}\n`,
          headers: {
            'content-type': contentType,
            ...(token !== undefined && { authorization: `Bearer ${token.reveal()}` }),
          },
          dispatcher: agent,
          signal: AbortSignal.timeout(patience),
        });
        await answer.body.dump({ limit: 65_536 });
        requireTaken(name, answer.statusCode);
      } catch (cause) {
        const isLate = cause instanceof Error && cause.name === 'TimeoutError';
        throw isLate ? tooLate(name, patience) : unreachable(name, cause);
      }
    },
    close: () => agent.destroy(),
  };
}

function requireTaken(name: string, status: number): void {
  if (status >= 200 && status < 300) return;
  const refused = status === 401 || status === 403;
  throw new TokenctlError(
    refused ? 'permission_refused' : 'target_misbehaved',
    `${name} did not take the records: it answered ${status}`,
    refused ? { hint: 'Give its token with --token-file, or `token` in the configuration.' } : {},
  );
}
