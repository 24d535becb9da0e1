import { type Logger, pino } from 'pino';

/** What is logged: the level named and all above it. */
export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug';

/** Logs to stderr, with everything left out that may hold a credential: headers, and the values of a statement. */
export function serviceLog(level: LogLevel): Logger {
  const redact = [
    ...['req.headers.authorization', 'req.headers.cookie', 'res.headers["set-cookie"]'],
    ...['err.params', 'err.detail', 'err.cause.params', 'err.cause.detail'],
  ];
  return pino({ level, redact, base: null }, pino.destination(2));
}
