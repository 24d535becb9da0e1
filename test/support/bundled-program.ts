import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll } from 'vitest';

/**
 * Makes one file of a program and all that it imports, for the tests of a file: it starts in a third of the
 * time. A test that kills a program at every point starts it a hundred times.
 */
export function bundledProgram(source: string): { readonly path: () => string } {
  let folder = '';
  const path = () => join(folder, 'program.mjs');
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tokenctl-program-'));
    const bundler = await rolldown({ input: source, platform: 'node', logLevel: 'silent' });
    await bundler.write({ file: path(), codeSplitting: false });
    await bundler.close();
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return { path };
}
