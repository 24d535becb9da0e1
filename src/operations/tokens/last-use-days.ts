import { TokenctlError } from '@tokenctl/common/errors.ts';
import { numberText } from '@tokenctl/common/text.ts';
import type { Token } from '../../domain/token.ts';
import type { Target } from '../ports/target.ts';

const DAY_MS = 86_400_000;

/**
 * The maximum number of tokens whose last use is read. It takes about two requests for each day of a last
 * use, and a dozen for each 200 tokens: some thousand requests for a controller that is some years old.
 */
export const MAX_LAST_USES = 10_000;

/**
 * The days (midnight UTC) on which tokens were last used, by id; null for never. For a target that does not
 * show the last use but selects tokens by it: a binary search narrows the time down to a day. Uses no token.
 * @throws TokenctlError `usage` for more than ten thousand tokens; `unsupported` for a target without such a
 * filter.
 */
export async function lastUseDays(
  target: Target,
  { tokens, now }: { tokens: readonly Pick<Token, 'id' | 'created'>[]; now: Date },
): Promise<ReadonlyMap<number, Date | null>> {
  if (tokens.length > MAX_LAST_USES) {
    throw new TokenctlError(
      'usage',
      `The last use of more than ${numberText(MAX_LAST_USES)} tokens cannot be read over REST`,
      { hint: 'Narrow the selection, add --limit, or use a database context.' },
    );
  }
  const days = new Map<number, Date | null>();
  if (tokens.length === 0) return days;
  const ids = tokens.map(({ id }) => id);
  for await (const { id } of target.tokens({ ids, neverUsed: true })) days.set(id, null);
  const narrow = async (among: readonly number[], from: number, to: number): Promise<void> => {
    if (among.length === 0) return;
    if (to - from <= 1) {
      for (const id of among) days.set(id, new Date(from * DAY_MS));
      return;
    }
    const middle = Math.floor((from + to) / 2);
    const earlier = new Set<number>();
    const unusedSince = new Date(middle * DAY_MS);
    for await (const { id } of target.tokens({ ids: among, unusedSince })) earlier.add(id);
    await Promise.all([
      narrow(
        among.filter((id) => earlier.has(id)),
        from,
        middle,
      ),
      narrow(
        among.filter((id) => !earlier.has(id)),
        middle,
        to,
      ),
    ]);
  };
  const oldest = Math.min(...tokens.map(({ created }) => created.getTime()));
  // Allows for a clock that is up to a day ahead of ours.
  const end = Math.floor(now.getTime() / DAY_MS) + 2;
  await narrow(
    ids.filter((id) => !days.has(id)),
    Math.floor(oldest / DAY_MS),
    end,
  );
  return days;
}
