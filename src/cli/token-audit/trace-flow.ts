import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import type { Selection } from '../../domain/selector.ts';
import { traceToken } from '../../operations/token-audit/trace-token.ts';
import { type Report, report } from '../../reports/result.ts';
import { noteLimit } from '../output/streams.ts';
import type { FindingFlags } from '../tokens/token-flags.ts';
import { selectTokens } from '../tokens/token-selection.ts';
import { type TraceJson, traceResult } from './trace-result.ts';

/** The maximum number of tokens to trace: each takes some requests, and a reading of the audit log. */
const MAX_TRACED = 20;

/** Requires that tokens are named in one way: by id, or by flags. Throws `usage`. */
export function requireOneSelection(tokenId: number | undefined, flags: readonly string[]): void {
  if (tokenId !== undefined && flags.length > 0) {
    throw new TokenctlError('usage', `Both a token ID and --${flags[0] ?? ''} are specified`, {
      hint: 'Omit one of them.',
    });
  }
  if (tokenId === undefined && flags.length === 0) {
    throw new TokenctlError('usage', 'No token is selected', {
      hint: 'Specify a token ID, or select tokens: `tokenctl tokens trace --user alice`.',
    });
  }
}

/** The history of a token by its id, as a command's result. Throws as `traceToken` does. */
export async function traceFlow(runtime: Runtime, tokenId: number): Promise<Report<TraceJson>> {
  await noteLimit(runtime);
  return await traceOf(runtime, tokenId);
}

/**
 * The histories of all selected tokens, as a command's result: JSON is an array.
 * @throws TokenctlError `usage` for more than twenty tokens, and as the selection and `traceToken` do.
 */
export async function traceSelectedFlow(
  runtime: Runtime,
  selection: Selection,
  flags: FindingFlags,
): Promise<Report<readonly TraceJson[]>> {
  const { tokens } = await selectTokens(runtime, selection, flags);
  await noteLimit(runtime);
  const ids: number[] = [];
  for await (const { id } of tokens()) {
    if (ids.push(id) > MAX_TRACED) {
      throw new TokenctlError('usage', `More than ${MAX_TRACED} tokens are selected`, {
        hint: 'Narrow the selection. `tokenctl tokens list` takes the same flags and shows their IDs.',
      });
    }
  }
  const traces: Report<TraceJson>[] = [];
  for (const id of ids) traces.push(await traceOf(runtime, id));
  return report({
    json: traces.map(({ json }) => json),
    text: async (screen) => {
      const texts = await Promise.all(traces.map(({ text }) => text(screen)));
      return texts.length === 0 ? 'No tokens.\n' : texts.join('\n');
    },
  });
}

async function traceOf(runtime: Runtime, tokenId: number): Promise<Report<TraceJson>> {
  const reading = await runtime.reading();
  return traceResult(await traceToken({ ...reading, tokenId }), reading.description.visibility);
}
