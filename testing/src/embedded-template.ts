import { cpSync, existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '@tokenctl/common/db/database.ts';
import { openEmbedded } from '@tokenctl/common/db/embedded.ts';
import { lock } from '@tokenctl/common/db/file-system.ts';
import { inject } from 'vitest';
import { fastestFolder } from './embedded-postgres.ts';

const PATIENCE_MS = 60_000;

/** An embedded database without tables. The first process that needs it makes it; others wait. */
async function template(): Promise<string> {
  const folder = inject('embeddedTemplate');
  const made = join(folder, 'made');
  using _held = await lock(join(folder, 'lock'), PATIENCE_MS);
  if (!existsSync(made)) await (await openEmbedded(made)).close();
  return made;
}

/** Puts an embedded database without tables into a folder that is new: to create one takes seconds, to copy it little. */
export async function prepareEmbedded(folder: string): Promise<void> {
  cpSync(await template(), folder, { recursive: true });
}

/** Opens an embedded database without tables. Its folder is removed when it is closed. */
export async function openPrepared(): Promise<Database> {
  const folder = await mkdtemp(join(fastestFolder(), 'tokenctl-embedded-'));
  await prepareEmbedded(folder);
  const database = await openEmbedded(folder);
  const close = async () => {
    await database.close();
    await rm(folder, { recursive: true });
  };
  return { ...database, close };
}
