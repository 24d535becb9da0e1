// Puts the released package.json in the place of the checkout's while npm packs or publishes: `prepack` and `postpack` of
// package.json run it. Where a run was killed in between, `git checkout package.json` undoes it.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { publishedManifest, root } from './release/published-package.ts';

const manifest = join(root, 'package.json');
// Neither packed nor in git.
const kept = join(root, 'node_modules/.package.checkout.json');

if (process.argv.includes('--restore')) {
  renameSync(kept, manifest);
} else {
  if (!('workspaces' in JSON.parse(readFileSync(manifest, 'utf8')))) {
    throw new Error('package.json is that of a release: git checkout package.json');
  }
  const published = publishedManifest();
  writeFileSync(kept, readFileSync(manifest));
  writeFileSync(manifest, published);
}
