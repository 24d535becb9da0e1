import { openLogAt } from './log-at.ts';

// Appends to the log of the first argument (a path, or the URL of a database) until the count of the second is reached (or for ever),
// writing the number of each acknowledged entry to stdout.
const [path = '', count = 'Infinity'] = process.argv.slice(2);
const log = openLogAt(path);
const run = '00000000-0000-4000-8000-000000000001';
const text = 'x'.repeat(2000);
for (let done = 0; done < Number(count); done += 1) {
  try {
    const entry = await log.append({
      kind: 'note',
      operation: 'test.append',
      run,
      actor: { pid: String(process.pid) },
      target: {},
      data: { text },
    });
    process.stdout.write(`${entry.seq}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(6);
  }
}
await log.close();
