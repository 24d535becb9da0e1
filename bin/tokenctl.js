#!/usr/bin/env node
// Checks the runtime before anything is imported that an old one could not parse, answers --version
// without loading the command framework, and hands over.
import { readFileSync } from 'node:fs';
import module from 'node:module';
import { homedir, userInfo } from 'node:os';

const REQUIRED = [22, 19];
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < REQUIRED[0] || (major === REQUIRED[0] && minor < REQUIRED[1])) {
  process.stderr.write(
    `tokenctl needs Node.js ${REQUIRED.join('.')} or newer, and this is ${process.versions.node}. ` +
      'Inside the repository, `npx tokenctl …` uses the Node.js that npm ci installed.\n',
  );
  process.exitCode = 2;
} else if (process.argv.length === 3 && ['--version', '-v', 'version'].includes(process.argv[2])) {
  const { name, version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const commit = orElse('', () => readFileSync(new URL('../dist/commit', import.meta.url), 'utf8'));
  process.stdout.write(
    `${name}/${version}${commit && `+${commit}`} ${process.platform}-${process.arch} node-${process.versions.node}\n`,
  );
} else {
  completeEnvironment();
  module.enableCompileCache();
  // Stacks then name the source files instead of the bundles; reading the source maps takes time.
  process.setSourceMapsEnabled(process.env['TOKENCTL_DEBUG'] === '1');
  const { main } = await import('../dist/src/cli/main.js');
  await main(process.argv.slice(2), import.meta.url);
}

/**
 * A user id without an entry in the password database, as containers use, has no home folder and no shell by itself.
 * The command framework asks the system for both and fails without them, so that the environment has to name them.
 * An empty HOME means that there is none.
 */
function completeEnvironment() {
  const { env } = process;
  env.HOME ??= orElse('', homedir);
  env.SHELL ??= orElse('unknown', () => userInfo().shell ?? '');
}

function orElse(fallback, read) {
  try {
    return read();
  } catch {
    return fallback;
  }
}
