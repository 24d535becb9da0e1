import assert from 'node:assert/strict';
import { join } from 'node:path';
import { homeOf } from '../home.ts';
import type { Installation } from '../installation.ts';
import { type Ended, manage } from '../manage.ts';
import { CONTROLLER, DATABASE, MANAGE } from '../needs.ts';
import { type AcceptanceSuite, type Scene, scene } from '../scene.ts';
import type { TableChange } from '../tables.ts';

/** What a run did to a user's access, in a form that runs for two users can be compared by. */
interface Effect {
  readonly code: number | null;
  /** The lines of stdout, in any order, without the values that differ. */
  readonly lines: readonly string[];
  /** What was added, removed and changed by table, and in which columns. */
  readonly rows: unknown;
}

/** The columns that hold times or texts of their own in each row that is changed. */
function shapeOf(found: Readonly<Record<string, TableChange>>): unknown {
  return Object.fromEntries(
    Object.entries(found).map(([table, { added, removed, changed }]) => [
      table,
      {
        added: added.length,
        removed: removed.length,
        changed: changed.map(({ columns }) => Object.keys(columns).sort().join()).sort(),
      },
    ]),
  );
}

/** The management commands print tokens; tokenctl prints fingerprints in their place. New tokens differ as well. */
function linesOf(stdout: string, { account }: Scene): readonly string[] {
  return stdout
    .replaceAll(account.name, 'USER')
    .replace(/^(revoked \w+ )\S+$/gm, '$1TOKEN')
    .replace(/^([A-Za-z0-9]{30}|[0-9a-f]{12})$/gm, 'NEW TOKEN')
    .split('\n')
    .filter((line) => line !== '')
    .sort();
}

/** Runs a command for a user of its own, as the management command or as the drop-in. */
async function effectOf(
  it: Installation,
  who: 'theirs' | 'ours',
  command: readonly string[],
): Promise<Effect> {
  const each = await scene(it, `${who}-${command.join('-').replace(/\W+/g, '-')}`);
  const args = command.map((arg) => (arg === 'USER' ? each.account.name : arg));
  const ended = who === 'theirs' ? await manage(it.description, ...args) : await dropIn(it, args);
  if (who === 'theirs' && args[0] === 'create_oauth2_token' && ended.code === 0) it.keep(ended.stdout.trim());
  return { code: ended.code, lines: linesOf(ended.stdout, each), rows: shapeOf(await each.changed()) };
}

async function dropIn(
  it: Installation,
  args: readonly string[],
): Promise<{ code: number | null; stdout: string }> {
  const home = homeOf(it, { current: 'db' });
  const file = join(home.folder, 'new.token');
  const isMaking = args[0] === 'create_oauth2_token' && args.includes('--user');
  const ended = await home.run(...args, ...(isMaking ? ['--output', file] : []));
  if (isMaking && ended.code === 0) it.keepFile(file);
  return ended;
}

const COMMANDS = [
  'revoke_oauth2_tokens --user USER',
  'revoke_oauth2_tokens --user USER --all',
  'revoke_oauth2_tokens --user tokenctl-acceptance-nobody',
  'revoke_oauth2_tokens --bogus',
  'expire_sessions --user USER',
  'expire_sessions --user tokenctl-acceptance-nobody',
  'create_oauth2_token --user USER',
  'create_oauth2_token --user tokenctl-acceptance-nobody',
  'create_oauth2_token',
];

const OPTIONS = [
  'expire_sessions --traceback=1',
  'create_oauth2_token --us tokenctl-acceptance-nobody --trace',
  'create_oauth2_token --help',
  'cleanup_tokens --version',
  'cleanup_tokens -v 5 --bogus',
];

/** What management commands say of an error; their own log goes to stderr as well. */
function errorsOf({ stderr }: Pick<Ended, 'stderr'>): readonly string[] {
  return stderr.split('\n').filter((line) => /^CommandError/.test(line));
}

/** The drop-ins for management commands, beside the management commands of the installation, each for a user of its own. */
export const dropIns: AcceptanceSuite = {
  name: 'Drop-ins beside the management commands',
  needs: [CONTROLLER, DATABASE, MANAGE],
  scenarios: [
    ...COMMANDS.map((command) => ({
      name: command,
      run: async (it: Installation) => {
        const theirs = await effectOf(it, 'theirs', command.split(' '));
        assert.deepEqual(await effectOf(it, 'ours', command.split(' ')), theirs);
      },
    })),
    ...OPTIONS.map((command) => ({
      name: `Django's own options: ${command}`,
      run: async (it: Installation) => {
        const args = command.split(' ');
        const theirs = await manage(it.description, ...args);
        const ours = await homeOf(it, { current: 'db' }).run(...args);
        assert.deepEqual(
          [ours.code, errorsOf(ours).length, ours.stdout === ''],
          [theirs.code, errorsOf(theirs).length, theirs.stdout === ''],
          ours.stderr,
        );
      },
    })),
  ],
};
