// Builds the program and plays the demo with it: `npm run demo`. Only with --keep, for a browser, does it build the web
// interface, which takes longer than all else.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const given = process.argv.slice(2);

/** Runs a program of the project, and returns its exit code. */
async function run(...args: string[]): Promise<number> {
  const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

/** Ctrl-C reaches the demo as well, which then ends and removes what it made. */
process.on('SIGINT', () => undefined);

const started = performance.now();
process.stdout.write('Building tokenctl from its sources …\n');
let failed = await run('scripts/build.ts', '--program');
if (failed === 0) {
  const seconds = Math.ceil((performance.now() - started) / 1000);
  process.stdout.write(`Built in ${seconds} s.\n`);
  if (given.includes('--keep')) {
    process.stdout.write('Building the web interface …\n');
    failed = await run('scripts/build.ts', '--web');
  }
  if (failed === 0) failed = await run('bin/tokenctl.js', 'demo', ...given);
}
process.exitCode = failed;
