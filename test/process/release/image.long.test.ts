import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ADMIN } from '@tokenctl/service/testing/service.ts';
import { describe, expect, test } from 'vitest';
import { estate } from '../cli/estate.ts';
import { temporaryFolder } from '../cli/program.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const containerfile = readFileSync(join(root, 'deploy/container/Containerfile'), 'utf8');

/** Only root can lay a new root folder over the machine's. Elsewhere the suite is skipped. */
const canIsolate =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['-m', 'true']).status === 0;

/**
 * Runs the image as an engine would: its files and the machine's libraries under a root that is read-only, a user id
 * that no file knows, and no HOME.
 */
const ENTER = `
mount -t tmpfs tmpfs "$NEW_ROOT"
cd "$NEW_ROOT"
for folder in usr bin lib lib64; do
  [ ! -e /$folder ] || { mkdir $folder; mount --rbind /$folder $folder; }
done
mkdir dev proc opt state etc node
mount --rbind /dev dev
mount --rbind /proc proc
mount --bind "$NODE" node
mount --bind "$IMAGE/opt" opt
mount --bind "$IMAGE/etc" etc
mount --bind "$IMAGE/state" state
for folder in usr opt etc node; do mount -o remount,ro,bind $folder; done
mount -o remount,ro .
exec chroot --userspec=+1000650000:+0 --groups=+0 . \\
  /usr/bin/setpriv --no-new-privs /node/node /opt/tokenctl/bin/tokenctl.js "$@"`;

interface Container {
  readonly image: string;
  readonly folder: string;
}

function start({ image, folder }: Container, args: readonly string[], more: Record<string, string> = {}) {
  const ofImage = [...containerfile.matchAll(/^ENV (.+)$/gm)].flatMap(([, pairs = '']) => pairs.split(' '));
  return spawn('unshare', ['--mount', 'sh', '-ec', ENTER, 'sh', ...args], {
    env: {
      PATH: process.env['PATH'],
      ...Object.fromEntries(ofImage.map((pair) => pair.split('='))),
      ...more,
      NEW_ROOT: folder,
      IMAGE: image,
      NODE: dirname(process.execPath),
    },
  });
}

describe.skipIf(!canIsolate)('the image', () => {
  const { url } = estate({ users: 20, tokens: 60 });

  test('runs scheduled jobs as any user id, and writes to its state folder only', async () => {
    const image = temporaryFolder();
    const made = spawnSync(process.execPath, ['scripts/release.ts', '--image', image], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(made).toMatchObject({ status: 0, stderr: '' });
    const plain = { image, folder: join(temporaryFolder(), 'root') };
    mkdirSync(plain.folder);
    const given = {
      CONTROLLER_HOST: url(),
      CONTROLLER_USERNAME: ADMIN.username,
      CONTROLLER_PASSWORD: ADMIN.password,
    };
    const [code] = await once(start(plain, ['tokens', 'list'], given), 'exit');
    expect(code, 'with variables alone').toBe(0);
    writeFileSync(
      join(image, 'etc/tokenctl/tokenctl.yaml'),
      `currentContext: test
contexts: { test: { url: "${url()}", username: ${ADMIN.username}, password: { env: CONTROLLER_PASSWORD } } }
jobs: { sweep: { job: revocation-sweep, schedule: "* * * * * *", dryRun: false, parameters: { rules: [never-expires], keepIfYounger: 0s, stopAbovePercent: 100 } } }
scheduler: { healthPort: 0 }
`,
    );
    const container = { image, folder: join(temporaryFolder(), 'root') };
    mkdirSync(container.folder);
    const jobs = start(container, ['jobs', 'start'], { CONTROLLER_PASSWORD: ADMIN.password });
    let output = '';
    const ended = new Promise<number | null>((resolve) => jobs.on('close', resolve));
    for (const stream of [jobs.stdout, jobs.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        // Once: a second signal ends the program at once.
        if (!jobs.killed && output.includes('"msg":"run ended"')) jobs.kill('SIGTERM');
      });
    }
    expect([await ended, output]).toEqual([0, expect.stringContaining('Revoked 52 of 52 tokens')]);
    expect(readdirSync(join(image, 'state/tokenctl'))).toContain('audit.jsonl');
    expect(readdirSync(container.folder)).toEqual([]);
  });
});
