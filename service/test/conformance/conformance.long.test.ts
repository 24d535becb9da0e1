import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Secret } from '@tokenctl/common/secret.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { describe, expect, inject, it } from 'vitest';
import { type RunningService, startService } from '../../src/server.ts';
import { DATABASES } from '../support/service.ts';
import { type ChangedRequest, withChangedRequests } from './changed-requests.ts';
import { withIssuer } from './issuer.ts';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const REPLAY = path('../../../../shared/conformance/replay.mjs');

/** A recording: its exchanges, the stated differences, and all its flows. */
interface Recording {
  readonly exchanges: string;
  readonly differences: string;
  readonly flows: readonly string[];
  /** The folders of its manual projects. */
  readonly folders?: readonly string[];
}

const FLOWS = [
  'initial',
  'setup',
  'root',
  'login',
  'me',
  'tokens',
  'tokens-list',
  'tokens-detail',
  'user-tokens',
  'applications',
  'o/token',
  'o/revoke_token',
  'o/authorize',
  'external',
  'settings',
  'basic-disabled',
  'sessions',
  'bearer-state',
  'routing',
  'launch',
  'resource',
  'scope',
  'activity',
  'reset',
  'paging',
];

/**
 * Starts the service as the recorded controller was: its cookie name, its administrator, behind a proxy, and
 * public clients that may do without PKCE.
 */
function startLikeRecorded(database: { url: Secret } | { folder: null }, projects?: string) {
  return startService({
    host: '127.0.0.1',
    port: 0,
    database,
    ...(projects !== undefined && { projects }),
    adminPassword: new Secret('adminpw'),
    sessionCookieName: 'awx_sessionid',
    behindProxy: true,
    requirePkce: false,
    version: '24.6.1',
    logLevel: 'error',
  });
}

const RECORDINGS = {
  first: {
    exchanges: path('../../../../shared/conformance/exchanges.jsonl'),
    differences: path('differences.json'),
    flows: FLOWS,
  },
  more: {
    exchanges: path('../../../../shared/conformance/exchanges-more.jsonl'),
    differences: path('differences-more.json'),
    flows: [
      ...['initial', 'setup', 'login', 'precedence', 'create', 'filters', 'detail', 'applications'],
      ...['o/token', 'authorize', 'scope', 'settings', 'closing'],
    ],
  },
  held: {
    exchanges: path('../../../../shared/conformance/exchanges-held.jsonl'),
    differences: path('differences-held.json'),
    flows: [
      ...[
        'initial',
        'setup',
        'users-create',
        'users-change',
        'tokens-values',
        'applications-values',
        'access',
      ],
      ...['sublists', 'lists', 'options', 'password', 'session', 'o/token', 'o/authorize', 'o/revoke_token'],
      ...['resource', 'launch', 'settings', 'closing'],
    ],
  },
  third: {
    exchanges: path('../../../../shared/conformance/exchanges-third.jsonl'),
    differences: path('differences-third.json'),
    flows: [
      ...['initial', 'setup', 'teams', 'roles', 'role-definitions', 'inventories', 'projects', 'credentials'],
      ...[
        'job-templates',
        'launching',
        'collections',
        'activity',
        'filters',
        'protocol',
        'values',
        'closing',
      ],
    ],
    folders: ['held3_a', 'held3_b'],
  },
} satisfies Readonly<Record<string, Recording>>;

/** What differs on purpose: as stated for an exchange, else as stated for all redirects. `ISSUER` is the service. */
function statedDifferences({ exchanges, differences }: Recording, issuer: string) {
  const text = readFileSync(differences, 'utf8').replaceAll('ISSUER', encodeURIComponent(issuer));
  const stated = JSON.parse(text) as Readonly<Record<string, ChangedRequest>>;
  const redirects = withIssuer(exchanges, issuer);
  // A key may name several exchanges.
  const answers = Object.entries(stated).flatMap(([ids, difference]) =>
    ids
      .split(' ')
      .map((id) => [id, difference.consent === true ? { ...redirects[id], ...difference } : difference]),
  );
  return { ...redirects, ...Object.fromEntries(answers) };
}

async function replay(recording: Recording, service: RunningService, databaseUrl: string | null) {
  const sql = `${process.execPath} ${path('run-sql.ts')}`;
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-conformance-'));
  const differences = join(folder, 'differences.json');
  const exchanges = join(folder, 'exchanges.jsonl');
  const stated = statedDifferences(recording, service.url);
  writeFileSync(differences, JSON.stringify(stated));
  writeFileSync(exchanges, withChangedRequests(recording.exchanges, stated));
  const child = spawn(
    process.execPath,
    [
      REPLAY,
      ...['--base', service.url, '--exchanges', exchanges, '--flow', recording.flows.join(',')],
      ...['--differences', differences],
      ...(databaseUrl === null ? [] : ['--sql-via', sql]),
    ],
    { env: { ...process.env, ...(databaseUrl !== null && { DATABASE_URL: databaseUrl }) } },
  );
  let output = '';
  for await (const part of child.stdout.setEncoding('utf8')) output += part;
  rmSync(folder, { recursive: true });
  const failures = output.split('\n').filter((line) => line.startsWith('FAIL '));
  expect(output).toMatch(/^\d+ passed, \d+ failed, \d+ skipped$/m);
  return failures;
}

/** A folder of projects, each with one playbook. */
function projectsWith(folders: readonly string[]): string {
  const projects = mkdtempSync(join(tmpdir(), 'tokenctl-projects-'));
  for (const folder of folders) {
    mkdirSync(join(projects, folder));
    writeFileSync(join(projects, folder, 'hello_world.yml'), '- hosts: all\n  tasks: []\n');
  }
  return projects;
}

describe.skipIf(!existsSync(REPLAY))('exchanges recorded from a real controller', () => {
  it.skipIf(!DATABASES.includes('PostgreSQL')).each<[string, Recording]>(Object.entries(RECORDINGS))(
    '%s: are answered alike on PostgreSQL',
    async (_, recording) => {
      const url = await createDatabase(inject('postgresUrl'));
      const projects = projectsWith(recording.folders ?? []);
      const service = await startLikeRecorded({ url: new Secret(url) }, projects);
      try {
        expect(await replay(recording, service, url)).toEqual([]);
      } finally {
        await service.close();
        rmSync(projects, { recursive: true });
      }
    },
  );

  it.skipIf(!DATABASES.includes('the embedded database'))(
    'are answered alike on the embedded database, where no SQL step is needed',
    async () => {
      const service = await startLikeRecorded({ folder: null });
      try {
        expect(await replay(RECORDINGS.first, service, null)).toEqual([]);
      } finally {
        await service.close();
      }
    },
  );
});
