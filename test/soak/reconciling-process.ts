import { createInterface } from 'node:readline';
import { reconcile } from '../../src/operations/journal/reconcile.ts';
import type { EntryDraft } from '../../src/operations/ports/audit-log.ts';
import { openLogAt } from '../process/faults/log-at.ts';
import { description, MemoryTarget } from '../support/memory-target.ts';

// `revoke PLACE RUN ENTRIES ID…`: records the first entries of a run that revokes these tokens, and kills itself.
// `reconcile PLACE`: reconciles once for each line of its input, and prints how many intents it closed.
const [mode = '', place = '', run = '', entries = '', ...ids] = process.argv.slice(2);
const log = openLogAt(place);
const target = new MemoryTarget(0);
const common = { target, log, description: description(), actor: { user: 'root' } };

async function revoke(): Promise<void> {
  using _lock = await log.lockRun(run);
  const draft = { operation: 'tokens.revoke', run, actor: { user: 'root' } };
  const { context, address } = description();
  const about = { ...draft, target: { context, address } };
  const numbers = ids.map(Number);
  const append = async (other: Pick<EntryDraft, 'kind' | 'data' | 'closes'>): Promise<number> => {
    if (recorded === Number(entries)) process.kill(process.pid, 'SIGKILL');
    const { seq } = await log.append({ ...about, ...other });
    recorded += 1;
    if (recorded === 1) process.stdout.write('begun\n');
    return seq;
  };
  let recorded = 0;
  const opening = await append({ kind: 'intent', data: { step: 'operation' } });
  const tokens = [{ user: 'alice', ids: numbers }];
  const batch = await append({ kind: 'intent', data: { step: 'batch', tokens } });
  await append({ kind: 'outcome', data: { step: 'batch', revoked: numbers }, closes: batch });
  await append({ kind: 'outcome', data: { step: 'operation', verified: true }, closes: opening });
}

if (mode === 'revoke') await revoke();
else {
  process.stdout.write('ready\n');
  for await (const _line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${await reconcile(common)}\n`);
  }
}
await log.close();
