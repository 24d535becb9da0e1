import { existsSync, readFileSync, statSync } from 'node:fs';
import type { Database } from '@tokenctl/common/db/database.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { describe, expect, inject, test } from 'vitest';
import { DOCUMENTED_GRANTS as documented, SERVICE_GRANTS } from '../../support/documented-grants.ts';
import { databaseEstate } from './database-estate.ts';

const { home, addRole, addUser, service } = databaseEstate();

/** The purposes of rights by the documentation's headings. */
const HEADINGS = {
  Reading: 'read',
  'Revoking tokens': 'revoke',
  'Ending sessions': 'sessions',
  'Changing settings': 'settings',
  'Creating tokens': 'create',
  'Setting an earlier end date for tokens': 'ends',
  'Cleaning up': 'cleanup',
  'Deleting applications and replacing client secrets': 'applications',
  'Deactivating users': 'users',
  'Reading email addresses and accounts': 'contacts',
} as const;

/** The purposes for which a role of this database lacks rights. */
async function lacking(url: string): Promise<ReadonlySet<string>> {
  const { stdout } = await home(url).run(['context', 'check', '--json']);
  const { missingRights } = JSON.parse(stdout) as { missingRights: { purpose: string }[] };
  return new Set(missingRights.map(({ purpose }) => purpose));
}

test('the documentation has statements for every purpose', () => {
  // Only a selection by organization or team asks for those of the last heading.
  expect([...documented.keys()]).toEqual([...Object.keys(HEADINGS), 'Reading organizations and teams']);
  expect(SERVICE_GRANTS).toHaveLength(2);
});

describe('a role with exactly the documented grants', () => {
  const reading = [...(documented.get('Reading') ?? []), ...SERVICE_GRANTS];

  test('for reading lacks nothing to read, and everything else', async () => {
    const { read: _read, ...others } = Object.fromEntries(
      Object.values(HEADINGS).map((purpose) => [purpose, true]),
    );
    expect(await lacking(await addRole(reading))).toEqual(new Set(Object.keys(others)));
  });

  test.each(Object.entries(HEADINGS).slice(1))('for %s lacks nothing for it', async (heading, purpose) => {
    const missing = await lacking(await addRole([...reading, ...(documented.get(heading) ?? [])]));
    expect(missing).not.toContain('read');
    expect(missing).not.toContain(purpose);
  });
});

describe('a role with the documented grants can do what they are for', () => {
  const reading = [...(documented.get('Reading') ?? []), ...SERVICE_GRANTS];

  test.each([
    [
      'Reading',
      [
        ['tokens', 'audit'],
        ['refresh-tokens', 'list'],
        ['sessions', 'list'],
        ['settings', 'show'],
      ],
    ],
    ['Revoking tokens', [['tokens', 'revoke', '--all', '--yes']]],
    ['Ending sessions', [['sessions', 'expire', '--all', '--yes']]],
    ['Changing settings', [['settings', 'token-lifetime', '--code', '5m', '--yes']]],
    ['Cleaning up', [['tokens', 'cleanup', '--yes', '--keep-revoked-for', '1d']]],
  ] as const)('%s', async (heading, commands) => {
    await addUser();
    const { run } = home(await addRole([...reading, ...(documented.get(heading) ?? [])]));
    for (const command of commands) {
      const { code, stderr } = await run(command);
      expect([command.join(' '), code, stderr.replace(/^Would(.*\n)*/m, '')]).toEqual([
        command.join(' '),
        0,
        '',
      ]);
    }
  });

  test('Creating tokens', async () => {
    const user = await addUser();
    const { folder, run } = home(await addRole([...reading, ...(documented.get('Creating tokens') ?? [])]));
    const create = ['create_oauth2_token', '--user', user.name, '--output', `${folder}/x.token`];
    expect(await run(create)).toMatchObject({ code: 0 });
  });
});

test('a role without any right is told what it needs, briefly where a command fails', async () => {
  const { run } = home(await addRole([]));
  expect((await run(['context', 'check'])).stdout).toMatch(
    /^Context "db" responds, but has no permissions\./,
  );
  const { code, stderr } = await run(['tokens', 'list']);
  expect([code, stderr.trimEnd().split('\n')]).toEqual([
    4,
    [
      expect.stringMatching(/lacks permissions on public\.auth_user, .* and \d+ more tables in postgresql:/),
      expect.stringContaining('context check'),
    ],
  ]);
});

test('a dry run does not call a revocation refused that leaves only authorization codes', {
  tags: ['long'],
}, async () => {
  const grants = [...(documented.get('Reading') ?? []), ...(documented.get('Revoking tokens') ?? [])];
  const { name } = await addUser();
  const { run } = home(
    await addRole([...grants, ...SERVICE_GRANTS].filter((grant) => !grant.includes('oauth2_provider_grant'))),
  );
  const dry = await run(['tokens', 'revoke', '--user', name, '--dry-run']);
  expect([dry.code, dry.stderr]).toEqual([0, '']);
  expect(await run(['tokens', 'revoke', '--user', name, '--yes'])).toMatchObject({ code: 0 });
});

test.each([
  [
    'Revoking tokens',
    /^This role is not allowed to end sessions\. Grant the permissions that `tokenctl context check --context db` lists\. Run `/,
  ],
  ['Ending sessions', /^Run `tokenctl sessions expire --context db --all`\.$/],
])('the remedy for a role with the rights for %s is one that it can carry out', async (heading, remedy) => {
  const grants = [
    ...(documented.get('Reading') ?? []),
    ...SERVICE_GRANTS,
    ...(documented.get(heading) ?? []),
  ];
  const { run } = home(await addRole(grants));
  const { plan } = JSON.parse((await run(['tokens', 'revoke', '--all', '--dry-run', '--json'])).stdout) as {
    plan: { accessPaths: { path: string; remedy: string }[] };
  };
  expect(plan.accessPaths.find(({ path }) => path === 'sessions')?.remedy).toMatch(remedy);
});

test('what context check prints is all that it takes', async () => {
  const url = await addRole([]);
  const told = async () => {
    const { stdout } = await home(url).run(['context', 'check']);
    return [...stdout.matchAll(/^ {2}(GRANT .*);$/gm)].map(([, grant]) => grant ?? '');
  };
  const grants = await told();
  expect(grants.length).toBeGreaterThan(10);
  const all = await addRole(grants.map((grant) => grant.replace(/ TO \w+$/, ' TO ROLE')));
  expect(await lacking(all)).toEqual(new Set());
});

const APPLICATIONS = 'Deleting applications and replacing client secrets';

test('applications: a new secret goes into a file and works, then the application goes with its tokens', {
  tags: ['long'],
}, async () => {
  const grants = [
    ...(documented.get('Reading') ?? []),
    ...SERVICE_GRANTS,
    ...(documented.get(APPLICATIONS) ?? []),
  ];
  const { issued, personal } = await addUser();
  const { folder, run } = home(await addRole(grants));
  const output = `${folder}/chat.secret`;
  const rotated = await run([
    'applications',
    'rotate-secret',
    'chatops',
    '--output',
    output,
    '--yes',
    '--json',
  ]);
  const value = readFileSync(output, 'utf8').trim();
  expect([rotated.code, statSync(output).mode & 0o777]).toEqual([0, 0o600]);
  expect(rotated.stdout + rotated.stderr).not.toContain(value);
  const grant = (secret: string) =>
    fetch(`${service()}/api/o/token/`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`chat:${secret}`)}` },
      body: new URLSearchParams({
        ...{ grant_type: 'password', username: 'admin', password: 'correct horse', scope: 'read' },
      }),
    }).then(({ status }) => status);
  expect([await grant('x'), await grant(value)]).toEqual([401, 200]);
  const again = await run([
    'applications',
    'rotate-secret',
    'chatops',
    '--output',
    `${output}2`,
    '--dry-run',
  ]);
  // It can be pasted as it is.
  const [, command = ''] = /To revoke: `tokenctl ([^`]+)`/.exec(again.stdout) ?? [];
  expect(command).toMatch(/^tokens revoke --context \S+ --application chatops$/);
  expect((await run([...command.split(' '), '--dry-run'])).code).toBe(0);
  expect(await run(['applications', 'show', 'chatops', '--json'])).toMatchObject({ code: 0 });
  const dry = await run(['applications', 'delete', 'chatops', '--dry-run', '--json']);
  expect(JSON.parse(dry.stdout)).toMatchObject({ dryRun: true, run: null });
  expect(await run(['applications', 'delete', 'chatops', '--yes', '--json'])).toMatchObject({ code: 0 });
  expect(await grant(value)).toBe(401);
  const left = await run(['tokens', 'list', '--json']);
  const ids = (JSON.parse(left.stdout) as { id: number }[]).map(({ id }) => id);
  expect([ids.includes(issued.id), ids.includes(personal.id)]).toEqual([false, true]);
});

const CONTROLLER = new URL('../../../../shared/reference/controller-tables.sql', import.meta.url);

describe.runIf(existsSync(CONTROLLER))("in a controller's tables", () => {
  /** An empty database of a controller's layout, and its URL. */
  async function controller(): Promise<{ readonly database: Database; readonly url: string }> {
    const url = await createDatabase(inject('postgresUrl'));
    const database = await openOn(url);
    await database.script(readFileSync(CONTROLLER, 'utf8'));
    return { database, url };
  }

  test('a changed setting is said to take a while', { tags: ['long'] }, async () => {
    const { database, url } = await controller();
    try {
      const { run } = home(url);
      expect((await run(['context', 'check'])).stdout).toMatch(/the tables of a controller at postgresql:/);
      const off = await run(['settings', 'basic-auth', 'off', '--yes']);
      expect(off.stdout).toMatch(/is off now\.\nA running controller applies the change within a minute/);
      const rows = await database.query<{ value: unknown }>(
        "SELECT value FROM conf_setting WHERE key = 'AUTH_BASIC_ENABLED'",
      );
      expect(rows).toEqual([{ value: false }]);
    } finally {
      await database.close();
    }
  });
});

test('a role without rights on sessions is not sent to a database context for them', async () => {
  const grants = [...(documented.get('Reading') ?? []), ...SERVICE_GRANTS];
  const { run } = home(await addRole([...grants, 'REVOKE ALL ON django_session FROM ROLE']));
  const { stdout } = await run(['users', 'show', 'admin']);
  expect(stdout).toMatch(
    /^ {2}Sessions: +not read: this role lacks permissions, which `tokenctl context check/m,
  );
});
