import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockEntries } from './published-package.ts';

/** The processors that an archive is made for, with their names in Debian. */
export const PROCESSORS = { x64: 'amd64', arm64: 'arm64' } as const;

/** A processor, as Node.js names it. */
export type Processor = keyof typeof PROCESSORS;

/** The Node.js of the archives: that of the tests, with the SHA-512 of the npm packages that bring it. */
export const NODE = {
  version: '24.21.0',
  integrity: {
    x64: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
    arm64: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
} as const;

/**
 * Writes `node` and its licence into a folder, from the npm package for Linux on this processor.
 *
 * @throws Error if the package is not the expected one, or the tests run on another version
 */
export function writeNode(folder: string, processor: Processor): void {
  const tested = lockEntries().get('node_modules/node')?.version;
  if (tested !== NODE.version) {
    throw new Error(
      `The tests run on Node.js ${tested}: change NODE in scripts/release/node-runtime.ts to it`,
    );
  }
  const downloads = mkdtempSync(join(tmpdir(), 'tokenctl-node-'));
  try {
    const name = `node-linux-${processor}`;
    execFileSync('npm', ['pack', '--silent', '--pack-destination', downloads, `${name}@${NODE.version}`], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const archive = join(downloads, `${name}-${NODE.version}.tgz`);
    const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
    if (found !== NODE.integrity[processor]) throw new Error(`${name}@${NODE.version} has the hash ${found}`);
    mkdirSync(folder, { recursive: true });
    const files = ['package/bin/node', 'package/LICENSE'];
    execFileSync('tar', [
      '-xzf',
      archive,
      '-C',
      folder,
      '--transform',
      's|.*/||',
      '--no-same-owner',
      ...files,
    ]);
  } finally {
    rmSync(downloads, { recursive: true });
  }
}
