#!/usr/bin/env node
// Checks the runtime before anything is imported that an old one could not parse, answers --version
// without loading the command framework, and hands over.
import { lstatSync, mkdirSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { homedir, userInfo } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

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
  const folder = orElse(null, compileCache);
  if (folder !== null) module.enableCompileCache(folder);
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

/**
 * The folder for compiled code, or null where somebody else could write to it: Node.js runs what it finds there. Its own default is
 * below /tmp, where whoever comes first owns it.
 */
function compileCache() {
  const { HOME, XDG_CACHE_HOME } = process.env;
  const base = XDG_CACHE_HOME || (HOME && join(HOME, '.cache'));
  if (!base || !isAbsolute(base)) return null;
  const folder = join(base, 'tokenctl', 'compiled');
  if (!isOnlyOurs(folder)) return null;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return isOnlyOurs(folder) ? folder : null;
}

/** Whether nobody but this user and root can write to a folder, or replace one that it is in. */
function isOnlyOurs(folder) {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  const isOurs =
    found === undefined ||
    (found.isDirectory() &&
      [0, process.getuid()].includes(found.uid) &&
      ((found.mode & 0o022) === 0 || (found.mode & 0o1000) !== 0));
  const parent = dirname(folder);
  return isOurs && (parent === folder || isOnlyOurs(parent));
}

function orElse(fallback, read) {
  try {
    return read();
  } catch {
    return fallback;
  }
}
