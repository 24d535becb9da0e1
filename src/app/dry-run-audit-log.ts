import type { AuditLog, Entry } from '../operations/ports/audit-log.ts';
import type { Clock } from '../operations/ports/clock.ts';

/**
 * A log for finding out what an operation would do: it takes entries and keeps none. It stands only
 * beside a target that changes nothing.
 */
export function rehearsalLog(clock: Clock): AuditLog {
  let size = 0;
  return {
    append(draft) {
      size += 1;
      const at = clock.now().toISOString();
      const entry: Entry = { ...draft, v: 1, seq: size, at, previous: '', open: [] };
      return Promise.resolve(entry);
    },
    async *entries() {},
    head: () => Promise.resolve({ size: 0, hash: '' }),
    verify: () => Promise.resolve({ entries: 0, head: { size: 0, hash: '' }, break: null, tornBytes: 0 }),
    holdRun: () => Promise.resolve({ [Symbol.dispose]: () => undefined }),
    abandonedIntents: () => Promise.resolve([]),
    close: () => Promise.resolve(),
  };
}
