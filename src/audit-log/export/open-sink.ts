import { readFileSync } from 'node:fs';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import type { ExportFormat, LogFormat, LogSink } from '../../operations/ports/log-sink.ts';
import { canonical } from '../chain.ts';
import { withTimeout } from '../failures.ts';
import { ecsFormat } from './ecs.ts';
import { fileSink } from './file-sink.ts';
import { datagramSink, httpSink, streamSink, timedOut } from './network-sinks.ts';
import { ocsfFormat } from './ocsf.ts';
import { cefFormat, syslogFormat } from './syslog.ts';

export interface OpenSinkOptions {
  /** `tcp://`, `tls://`, `udp://`, `https://`, `http://`, or the path of a file to append to. */
  readonly to: string;
  readonly format: ExportFormat;
  /** A file with the CA certificate for a `tls://` or `https://` sink. */
  readonly caFile?: string | undefined;
  /** The bearer token for an `https://` or `http://` sink. */
  readonly token?: Secret | undefined;
  /** The timeout for sending, in milliseconds. By default 10,000. */
  readonly timeoutMs?: number | undefined;
}

const TIMEOUT_MS = 10_000;

/** How long a sink may take to report its own timeout before it is abandoned, in milliseconds. */
const GRACE_MS = 1_000;

/** The default ports of syslog for each transport (RFC 5425, RFC 5426, RFC 6587). */
const ports: Readonly<Record<string, number>> = { 'tcp:': 601, 'tls:': 6514, 'udp:': 514 };

/**
 * Opens a sink for exported records. Connects to nothing before the first use. Sending never takes longer
 * than the timeout.
 * @throws TokenctlError `configuration` for an invalid address or an unreadable CA certificate; `unsupported`
 * for the format `jsonl` over UDP.
 */
export function openSink(options: OpenSinkOptions): LogSink {
  const { timeoutMs = TIMEOUT_MS } = options;
  const sink = sinkFor({ ...options, timeoutMs });
  return {
    name: sink.name,
    send: (records) =>
      withTimeout(sink.send(records), {
        timeoutMs: timeoutMs + GRACE_MS,
        onTimeout: () => timedOut(sink.name, timeoutMs),
      }),
    close: () => sink.close(),
  };
}

function sinkFor(options: OpenSinkOptions & { readonly timeoutMs: number }): LogSink {
  const { to, format, token, timeoutMs } = options;
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(to)) return fileSink(to);
  const url = sinkUrl(to);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || (ports[url.protocol] ?? 0);
  const name = `${url.protocol}//${url.host}`;
  const ca = readCertificate(options.caFile);
  switch (url.protocol) {
    case 'http:':
    case 'https:': {
      const contentType = format === 'cef' || format === 'syslog' ? 'text/plain' : 'application/x-ndjson';
      return httpSink({ name, url, contentType, ca, token, timeoutMs });
    }
    case 'udp:':
      if (format === 'jsonl')
        throw new TokenctlError(
          'unsupported',
          'The format jsonl is not available over UDP: entries may be larger than a datagram',
          { hint: 'Use another format, or use tcp:// or tls://.' },
        );
      return datagramSink({ name, host, port });
    default: {
      const framing = format === 'syslog' || format === 'cef' ? 'octets' : 'lines';
      return streamSink({
        name,
        host,
        port,
        tls: url.protocol === 'tls:' ? { ca } : null,
        framing,
        timeoutMs,
      });
    }
  }
}

/** The format with this name. Over a connection, CEF is wrapped in syslog messages. */
export function formatFor(
  format: ExportFormat,
  { to, version }: { to: string | undefined; version: string },
): LogFormat {
  switch (format) {
    case 'ocsf':
      return ocsfFormat({ version });
    case 'ecs':
      return ecsFormat({ version });
    case 'cef':
      return cefFormat({ version, inSyslog: to !== undefined && /^(tcp|tls|udp):/i.test(to) });
    case 'syslog':
      return syslogFormat({ version });
    case 'jsonl':
      return jsonLinesFormat;
  }
}

function sinkUrl(to: string): URL {
  const url = URL.canParse(to) ? new URL(to) : null;
  const known = ['tcp:', 'tls:', 'udp:', 'http:', 'https:'];
  if (url === null || !known.includes(url.protocol) || url.hostname === '') {
    throw new TokenctlError('configuration', `Invalid sink address`, {
      hint: 'Use tcp://HOST:PORT, tls://HOST:PORT, udp://HOST:PORT, https://…, or a file path.',
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw new TokenctlError('configuration', 'The sink address contains a user name or password', {
      hint: 'Specify a token with --token-file, or `token` in the configuration.',
    });
  }
  return url;
}

function readCertificate(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new TokenctlError('configuration', `Could not read the CA certificate ${file}`, { cause });
  }
}

/** The unchanged lines of the log: a file of them can be verified like the log. */
export const jsonLinesFormat: LogFormat = {
  *records(entry) {
    yield canonical(entry);
  },
};
