import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** Conversations with a real controller 24.6.1; kept beside the project, not in it. */
const RECORDING = join(import.meta.dirname, '../../../shared/recordings/awx-24.6.1/raw.jsonl.gz');

/** Whether the conversations are at hand. */
export const HAS_RECORDING = existsSync(RECORDING);

interface Exchange {
  readonly as: string;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly status: number;
  readonly response: unknown;
}

let exchanges: readonly Exchange[] | undefined;

/** The first exchange of its superuser that is meant. */
export function recordedExchange(isMeant: (exchange: Exchange) => boolean): Exchange {
  exchanges ??= gunzipSync(readFileSync(RECORDING))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Exchange);
  const found = exchanges.find((each) => each.as === 'admin' && isMeant(each));
  if (found === undefined) throw new Error('not recorded');
  return found;
}
