import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { homeOf } from '../home.ts';
import type { Installation } from '../installation.ts';
import type { AcceptanceSuite } from '../scene.ts';

/** How many characters in a row of a secret may not be printed: fewer occur in hashes by chance. */
const LENGTH = 10;

/** The parts of all secrets, each of which gives a secret away. */
function partsOf(secrets: ReadonlySet<string>): ReadonlySet<string> {
  const parts = new Set<string>();
  for (const secret of secrets) {
    for (let start = 0; start + LENGTH <= secret.length; start += 1)
      parts.add(secret.slice(start, start + LENGTH));
  }
  return parts;
}

function leaks(text: string, parts: ReadonlySet<string>): boolean {
  for (let start = 0; start + LENGTH <= text.length; start += 1) {
    if (parts.has(text.slice(start, start + LENGTH))) return true;
  }
  return false;
}

/** What the homes of this run hold, without the files that are to hold secrets. */
function filesOf({ homes, secretFiles }: Installation): readonly string[] {
  return homes
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name)),
    )
    .filter((file) => !secretFiles.has(file));
}

/** What everything that ran before has printed and written. */
export const secrets: AcceptanceSuite = {
  name: 'Secrets',
  needs: [],
  scenarios: [
    {
      name: 'no part of a token, code, cookie or password is in any output, audit log or file of this run',
      run: async (it) => {
        const home = homeOf(it);
        for (const format of [[], ['--json'], ['--csv']]) await home.run('tokens', 'list', ...format);
        for (const format of ['table', 'json', 'sarif', 'html', 'csv'])
          await home.run('tokens', 'audit', '--format', format);
        await home.run('tokens', 'trace', String(it.adminTokenId), '--json');
        const parts = partsOf(it.secrets);
        const printed = it.printed.filter(({ text }) => leaks(text, parts)).map(({ command }) => command);
        const written = filesOf(it).filter((file) => leaks(readFileSync(file, 'utf8'), parts));
        assert.deepEqual({ printed, written }, { printed: [], written: [] });
        return `${it.secrets.size} secrets, ${it.printed.length} outputs and ${filesOf(it).length} files were compared.`;
      },
    },
    {
      name: 'the audit logs of this run are unbroken',
      run: async (it) => {
        const logs = it.homes
          .map((folder) => join(folder, '.local/state/tokenctl/audit.jsonl'))
          .filter((log) => existsSync(log));
        const home = homeOf(it);
        for (const log of logs) {
          const { code, stdout, stderr } = await home.run('log', 'verify', '--log-file', log);
          assert.equal(code, 0, `${stdout}${stderr}`);
        }
        return `${logs.length} audit logs were verified.`;
      },
    },
  ],
};
