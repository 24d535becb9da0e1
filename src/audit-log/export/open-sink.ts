import { readFileSync } from 'node:fs';
import { TokenctlError } from '../../domain/errors.ts';
import type { ExportFormat } from '../../domain/export-format.ts';
import type { Secret } from '../../domain/secret.ts';
import type { LogFormat, LogSink } from '../../operations/ports/log-sink.ts';
import { withTimeout } from '../timeout.ts';
import { cefFormat } from './cef.ts';
import { datagramSink } from './datagram-sink.ts';
import { ecsFormat } from './ecs.ts';
import { fileSink } from './file-sink.ts';
import { httpSink } from './http-sink.ts';
import { jsonLinesFormat } from './json-lines.ts';
import { ocsfFormat } from './ocsf.ts';
import { tooLate } from './sink-failure.ts';
import { streamSink } from './stream-sink.ts';
import { syslogFormat } from './syslog.ts';

/** Where records go, and as what. */
export interface OpenSinkOptions {
  /** `tcp://`, `tls://`, `udp://`, `https://`, `http://`, or the path of a file that is appended to. */
  readonly to: string;
  readonly format: ExportFormat;
  /** A file with the authority that signed the certificate of a `tls://` or `https://` sink. */
  readonly caFile?: string | undefined;
  /** What an `https://` or `http://` sink wants to see. */
  readonly token?: Secret | undefined;
  /** How long handing over may take, in milliseconds; 10,000 where not given. */
  readonly patience?: number | undefined;
}

const PATIENCE = 10_000;

/** The ports of syslog over each transport (RFC 5425, RFC 5426, RFC 6587). */
const ports: Readonly<Record<string, number>> = { 'tcp:': 601, 'tls:': 6514, 'udp:': 514 };

/**
 * Opens what takes exported records. Nothing is connected before the first use, and handing over takes no longer
 * than the patience, whatever the sink does.
 *
 * @throws TokenctlError `configuration` for an address that is none, or an authority that cannot be read;
 * `unsupported` for lines of the log as datagrams.
 */
export function openSink(options: OpenSinkOptions): LogSink {
  const { patience = PATIENCE } = options;
  const sink = sinkOf({ ...options, patience });
  return {
    name: sink.name,
    send: (records) =>
      withTimeout(sink.send(records), {
        timeoutMs: patience + 1_000,
        onTimeout: () => tooLate(sink.name, patience),
      }),
    close: () => sink.close(),
  };
}

function sinkOf(options: OpenSinkOptions & { readonly patience: number }): LogSink {
  const { to, format, token, patience } = options;
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(to)) return fileSink(to);
  const url = addressOf(to);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || (ports[url.protocol] ?? 0);
  const name = `${url.protocol}//${url.host}`;
  const ca = authorityOf(options.caFile);
  switch (url.protocol) {
    case 'http:':
    case 'https:': {
      const contentType = format === 'cef' || format === 'syslog' ? 'text/plain' : 'application/x-ndjson';
      return httpSink({ name, url, contentType, ca, token, patience });
    }
    case 'udp:':
      if (format === 'jsonl') throw tooLarge();
      return datagramSink({ name, host, port });
    default: {
      const framing = isSyslog(format) ? 'octets' : 'lines';
      return streamSink({
        name,
        host,
        port,
        tls: url.protocol === 'tls:' ? { ca } : null,
        framing,
        patience,
      });
    }
  }
}

/**
 * The format of a name, as it goes to a sink. To a connection, CEF goes in messages of syslog.
 *
 * @param options.version The program's version.
 */
export function formatFor(
  format: ExportFormat,
  { to, version }: { readonly to: string | undefined; readonly version: string },
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

function isSyslog(format: ExportFormat): boolean {
  return format === 'syslog' || format === 'cef';
}

function addressOf(to: string): URL {
  // A scheme that the standard does not know is parsed without a host; that of the web is.
  const url = URL.canParse(to) ? new URL(to) : null;
  const known = ['tcp:', 'tls:', 'udp:', 'http:', 'https:'];
  if (url === null || !known.includes(url.protocol) || url.hostname === '') {
    throw new TokenctlError('configuration', 'The address of the sink is none', {
      hint: 'It is tcp://HOST:PORT, tls://HOST:PORT, udp://HOST:PORT, https://…, or the path of a file.',
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw new TokenctlError('configuration', 'The address of the sink holds a password', {
      hint: 'Give a token with --token-file, or `token` in the configuration.',
    });
  }
  return url;
}

function authorityOf(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new TokenctlError('configuration', `The authority's certificate ${file} cannot be read`, { cause });
  }
}

function tooLarge(): TokenctlError {
  return new TokenctlError('unsupported', 'Lines of the log may be larger than a datagram', {
    hint: 'Use another format, or tcp:// or tls://.',
  });
}
