import type { LogFormat } from '../../operations/ports/log-sink.ts';
import { canonical } from '../chain.ts';

/** The lines of the log as they are, which a copy of the log is made of: it verifies as the log does. */
export const jsonLinesFormat: LogFormat = {
  *records(entry) {
    yield canonical(entry);
  },
};
