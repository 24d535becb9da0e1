import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Secret } from '../../../src/domain/secret.ts';
import { type RunningService, startService } from '../../../src/service/server.ts';
import { createDatabase } from '../../support/embedded-postgres.ts';
import { awxCli, describePeer } from '../peer.ts';

const PASSWORD = 'adminpw';

/** A run of the awx CLI, in the order of their dependence. */
const COMMANDS: readonly (readonly string[])[] = [
  ['users', 'create', '--username', 'cli-user', '--password', 'Cli-pw-1', '--email', 'cli@example.org'],
  ['users', 'get', 'cli-user'],
  ['users', 'modify', 'cli-user', '--first_name', 'Clive'],
  ['users', 'list', '--username', 'cli-user'],
  ['organizations', 'create', '--name', 'cli-organization'],
  ['organizations', 'modify', 'cli-organization', '--description', 'changed'],
  ['teams', 'list', '--name', 'no such team'],
  ['tokens', 'create', '--scope', 'read', '--description', 'cli-token'],
  ['tokens', 'list', '--description', 'cli-token'],
  [
    ...['applications', 'create', '--name', 'cli-application', '--organization', 'cli-organization'],
    ...['--client_type', 'public', '--authorization_grant_type', 'password'],
  ],
  ['applications', 'list', '--name', 'cli-application'],
  ['job_templates', 'list', '--name', 'no such template'],
  ['settings', 'modify', 'SESSIONS_PER_USER', '7'],
  ['settings', 'modify', 'SESSIONS_PER_USER', '--', '-1'],
  ['me'],
  ['applications', 'delete', 'cli-application'],
  ['organizations', 'delete', 'cli-organization'],
  ['users', 'delete', 'cli-user'],
  ['users', 'get', 'cli-user'],
];

/** The names in a document, of its first result if it is a list. */
function namesOf(stdout: string): readonly string[] {
  const document = stdout.trim().startsWith('{') ? (JSON.parse(stdout) as Record<string, unknown>) : {};
  const { results } = document;
  const [first] = Array.isArray(results) ? (results as object[]) : [document];
  return Object.keys(first ?? {}).sort();
}

describePeer('awx', 'the awx CLI', (peer) => {
  let service: RunningService;
  const places = () => [service, peer()].map(({ url }) => ({ url, password: PASSWORD }));

  beforeAll(async () => {
    service = await startService({
      host: '127.0.0.1',
      port: 0,
      database: { url: new Secret(await createDatabase(inject('postgresUrl'))) },
      adminPassword: new Secret(PASSWORD),
      version: '24.6.1',
      logLevel: 'error',
    });
    // The first call unpacks the CLI. Two first calls at once would fail.
    await awxCli({ url: service.url, password: PASSWORD }, ['--version']);
  });
  afterAll(() => service.close());

  test.each(COMMANDS.map((args) => [args.join(' '), args] as const))('%s', async (_, args) => {
    const [ours, real] = await Promise.all(places().map((place) => awxCli(place, [...args, '-f', 'json'])));
    expect(ours?.code, `${ours?.stderr} | ${real?.stderr}`).toBe(real?.code);
    expect(namesOf(ours?.stdout ?? '')).toEqual(namesOf(real?.stdout ?? ''));
  });

  test.each<readonly string[]>([[], ['--limit', 'localhost']])(
    'launches a job template %j',
    async (...limit) => {
      const args = ['job_templates', 'launch', 'Demo Job Template', ...limit, '-f', 'json'];
      const [ours, real] = await Promise.all(places().map((place) => awxCli(place, args)));
      expect(ours?.code, `${ours?.stderr} | ${real?.stderr}`).toBe(0);
      const facts = ({ code = -1, stdout = '' } = {}) => {
        const job = JSON.parse(stdout) as Record<string, unknown>;
        const { type, name, status, limit: used, ignored_fields, launch_type, job_type } = job;
        return { code, type, name, status, used, ignored_fields, launch_type, job_type };
      };
      expect(facts(ours)).toEqual(facts(real));
    },
  );

  test('follows a job of the service to its end', async () => {
    const [place] = places();
    if (place === undefined) throw new Error('no service');
    // Without ansible-playbook the job ends with an error, which the CLI reports by its exit code.
    const { code, stderr } = await awxCli(place, ['job_templates', 'launch', 'Demo Job Template', '--wait']);
    expect([[0, 1].includes(code ?? -1), stderr]).toEqual([true, '']);
  });

  test.each(['human', 'yaml'])('lists users as %s', async (format) => {
    const args = ['users', 'list', '--username', 'admin', '-f', format];
    const [ours, real] = await Promise.all(places().map((place) => awxCli(place, args)));
    expect(ours?.code).toBe(0);
    if (format === 'human') expect(ours?.stdout).toBe(real?.stdout);
    const lines = (text = '') => text.split('\n').filter((line) => /^ {2}username:/.test(line));
    expect(lines(ours?.stdout)).toEqual(lines(real?.stdout));
  });
});
