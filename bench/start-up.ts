// How long the program takes to start, as a multiple of a bare Node.js that does nothing, in the same run.
// Run: npm run build && node bench/start-up.ts
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { judge, measureInTurn, median, perTurn, sized } from './support/ratio.ts';

const program = fileURLToPath(new URL('../bin/tokenctl.js', import.meta.url));

function run(...args: string[]): () => Promise<void> {
  return () => {
    const { status } = spawnSync(process.execPath, args, { stdio: 'ignore' });
    return status === 0
      ? Promise.resolve()
      : Promise.reject(new Error(`${args.join(' ')} ended with ${status}`));
  };
}

const things = {
  bare: run('-e', '0'),
  version: run(program, '--version'),
  help: run(program, 'tokens', 'list', '--help'),
};
// The first round fills the compile cache and the disk's.
await measureInTurn(2, things);
const measured = await measureInTurn(sized(25, 3), things);
const times = (name: keyof typeof things) => measured[name]?.times ?? [];
for (const name of Object.keys(things) as (keyof typeof things)[])
  console.log(`${name}: ${median(times(name)).toFixed(0)} ms`);
judge('tokenctl --version / node -e 0', perTurn(times('version'), times('bare')), { atMost: 1.5 });
judge('tokenctl tokens list --help / node -e 0', perTurn(times('help'), times('bare')), { atMost: 4 });
