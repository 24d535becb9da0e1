import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareEmbedded } from '@tokenctl/testing/embedded-template.ts';
import { until } from '@tokenctl/testing/until.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../src/server.ts';
import { startJob } from '../src/store/jobs.ts';
import { fakeAnsible } from './support/fake-ansible.ts';
import { ADMIN, type Body, basic, bearer, Client, DATABASES, startTestService } from './support/service.ts';

const ENDED = ['successful', 'failed', 'error', 'canceled'];
const SECRET = 'environment-secret';

/** Asks for a job until it is as expected. */
const reached = (client: Client, id: number, isDone: (job: Body) => boolean) =>
  until(async () => (await client.get(`/api/v2/jobs/${id}/`)).json, isDone);

const ended = (client: Client, id: number) =>
  reached(client, id, (job) => ENDED.includes(String(job['status'])));

describe.each(DATABASES)('jobs on %s', (kind) => {
  let service: RunningService;
  let admin: Client;
  let template: Body;
  const projects = mkdtempSync(join(tmpdir(), 'tokenctl-projects-'));
  const stdout = async (id: number) => (await admin.get(`/api/v2/jobs/${id}/stdout/?format=txt`)).text;
  const launch = async (limit?: string) =>
    (await admin.post(`/api/v2/job_templates/${template.id}/launch/`, { ...(limit && { limit }) })).json;

  beforeAll(async () => {
    process.env['TOKENCTL_SERVICE_DATABASE'] = SECRET;
    service = await startTestService({ kind, searchPath: fakeAnsible(), projects });
    admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    const [demo] = (await admin.get('/api/v2/job_templates/')).json.results;
    if (demo === undefined) throw new Error('there is no demo job template');
    const values = { ask_limit_on_launch: true, allow_simultaneous: true };
    template = (await admin.patch(demo['url'] as string, values)).json;
  });
  afterAll(async () => {
    delete process.env['TOKENCTL_SERVICE_DATABASE'];
    await service.close();
  });

  it('run the playbook, with its output in the job', async () => {
    const launched = await launch();
    expect(launched).toMatchObject({
      type: 'job',
      status: 'pending',
      launch_type: 'manual',
      ignored_fields: {},
    });
    const job = await ended(admin, launched.id);
    expect(job).toMatchObject({ status: 'successful', failed: false, job_explanation: '' });
    const output = await stdout(launched.id);
    expect(output).toContain('argument: -i\n');
    expect(output).toContain(`argument: ${join(projects, 'demo_project', 'hello_world.yml')}\n`);
    expect(output).not.toContain('--limit');
    expect(output).toContain('{"all":{"hosts":{"localhost":{}},"vars":{},"children":{}}}');
    const json = (await admin.get(`/api/v2/jobs/${launched.id}/stdout/?format=json`)).json;
    expect(json['content']).toBe(output);
    const home = /^HOME=(.+)$/m.exec(output)?.[1] ?? '';
    expect(home).toContain('tokenctl-job-');
    expect(existsSync(home)).toBe(false);
    const page = await admin.get(`/api/v2/jobs/${launched.id}/stdout/?format=html`);
    expect(page.headers['content-type']).toContain('text/html');
    expect((await admin.get(`/api/v2/jobs/${launched.id}/stdout/?format=exe`)).status).toBe(400);
  });

  it('show their output as events, as the awx CLI follows a job', async () => {
    const { id, related } = await launch();
    const job = await ended(admin, id);
    expect(job['event_processing_finished']).toBe(true);
    const events = async (query: string) =>
      (await admin.get(`${(related as Record<string, string>)['job_events']}?${query}`)).json;
    const lines = (await stdout(id)).replace(/\n$/, '').split('\n');
    const all = await events('order_by=start_line&no_truncate=True');
    expect(all.results).toMatchObject([
      { type: 'job_event', start_line: 0, end_line: lines.length, stdout: lines.join('\n') },
    ]);
    const rest = await events('start_line__gte=3');
    expect(rest.results).toMatchObject([{ start_line: 3, stdout: lines.slice(3).join('\n') }]);
    expect((await events(`start_line__gte=${lines.length}`)).results).toEqual([]);
    await service.database.execute("UPDATE service_job SET status = 'running' WHERE id = $1", [id]);
    await service.database.execute(
      "UPDATE service_job_output SET content = 'one line' || chr(10) || 'half a l' WHERE job_id = $1",
      [id],
    );
    expect((await events('')).results[0]).toMatchObject({ stdout: expect.not.stringContaining('half a l') });
    await service.database.execute("UPDATE service_job SET status = 'successful' WHERE id = $1", [id]);
    for (const query of ['start_line__gte=x', 'event=verbose']) {
      expect((await admin.get(`/api/v2/jobs/${id}/job_events/?${query}`)).status).toBe(400);
    }
  });

  it('show a large output whole, and its lines from any one on', async () => {
    const { id } = await launch();
    await ended(admin, id);
    const replace = async (content: string) => {
      await service.database.execute('DELETE FROM service_job_output WHERE job_id = $1', [id]);
      await service.database.execute(
        `INSERT INTO service_job_output (job_id, number, content)
         SELECT $1, n, substr($2, n * 1000 + 1, 1000) FROM generate_series(0, length($2) / 1000) n`,
        [id, content],
      );
    };
    const events = async (start: number) =>
      (await admin.get(`/api/v2/jobs/${id}/job_events/?start_line__gte=${start}`)).json.results[0];
    const lines = Array.from({ length: 700 }, (_, n) =>
      n % 7 === 0 ? '' : `line ${n} "\\ \u{1f600}`.repeat(n % 5),
    );
    // A line of several pieces, and pieces that end with a line break or in the middle of a character.
    lines[300] = 'long '.repeat(1500);
    for (const end of ['', '\n']) {
      const content = lines.join('\n') + end;
      await replace(content);
      expect(await stdout(id)).toBe(content);
      const { json } = await admin.get(`/api/v2/jobs/${id}/stdout/?format=json`);
      const range = { start: 0, end: content.split('\n').length, absolute_end: content.split('\n').length };
      expect(json).toEqual({ content, range });
      const complete = end === '' && lines.at(-1) === '' ? lines.slice(0, -1) : lines;
      for (const start of [0, 1, 8, 299, 300, 301, 699]) {
        expect(await events(start)).toMatchObject({
          start_line: start,
          end_line: complete.length,
          stdout: complete.slice(start).join('\n'),
        });
      }
      expect(await events(700)).toBeUndefined();
    }
  });

  it('answer HEAD for an output without reading it', async () => {
    const { id } = await launch();
    const { status, text } = await admin.send('HEAD', `/api/v2/jobs/${id}/stdout/?format=txt`);
    expect([status, text]).toEqual([200, '']);
  });

  it('do not inherit the environment of the service', async () => {
    const { id } = await launch();
    await ended(admin, id);
    const output = await stdout(id);
    expect(output).not.toContain(SECRET);
    expect(output).not.toContain('TOKENCTL');
    expect(output).not.toContain('NODE');
  });

  it('fail if the playbook fails', async () => {
    const { id } = await launch('fail');
    expect(await ended(admin, id)).toMatchObject({ status: 'failed', failed: true, limit: 'fail' });
    expect(await stdout(id)).toContain('something broke');
  });

  it('pass the limit as one argument without interpretation', async () => {
    const odd = '$(touch never);`id` --become & web*:!db';
    const { id } = await launch(odd);
    expect(await ended(admin, id)).toMatchObject({ status: 'successful', limit: odd });
    expect(await stdout(id)).toContain(`argument: --limit=${odd}\n`);
    const refused = [
      '@/etc/passwd',
      'web,@/etc/passwd',
      'a\nb',
      'a\0b',
      'x'.repeat(10_001),
      ['web'],
      null,
      {},
    ];
    for (const limit of refused) {
      const answer = await admin.post(`/api/v2/job_templates/${template.id}/launch/`, { limit });
      expect([limit, answer.status]).toEqual([limit, 400]);
    }
    const number = await admin.post(`/api/v2/job_templates/${template.id}/launch/`, { limit: 7.5 });
    expect([number.status, number.json['limit']]).toEqual([201, '7.5']);
  });

  it('run in check mode where the template says so, and know no scan', async () => {
    const url = template['url'] as string;
    for (const job_type of ['scan', 'Check', '', null, 1]) {
      const answer = await admin.patch(url, { job_type });
      expect([job_type, answer.status, Object.keys(answer.json)]).toEqual([job_type, 400, ['job_type']]);
    }
    expect((await admin.patch(url, { job_type: 'check' })).json).toMatchObject({ job_type: 'check' });
    try {
      const { id, job_type } = await launch();
      expect(job_type).toBe('check');
      await ended(admin, id);
      expect(await stdout(id)).toContain('argument: --check\n');
      const found = (await admin.get('/api/v2/jobs/?job_type=check')).json;
      expect(found.results).toMatchObject([{ id, job_type: 'check' }]);
    } finally {
      await admin.patch(url, { job_type: 'run' });
    }
    const { id } = await launch();
    await ended(admin, id);
    expect(await stdout(id)).not.toContain('--check');
  });

  it('ignore and report a limit that the template does not allow', async () => {
    await admin.patch(template['url'] as string, { ask_limit_on_launch: false, limit: 'web' });
    try {
      const answer = await admin.post(`/api/v2/job_templates/${template.id}/launch/`, {
        limit: 'fail',
        extra_vars: { a: 1 },
        nonsense: true,
      });
      expect(answer.status).toBe(201);
      expect(answer.json).toMatchObject({
        limit: 'web',
        ignored_fields: { limit: 'fail', extra_vars: { a: 1 } },
      });
      expect(answer.headers.location).toBe(answer.json['url']);
      expect(await ended(admin, answer.json.id)).toMatchObject({ status: 'successful' });
    } finally {
      await admin.patch(template['url'] as string, { ask_limit_on_launch: true, limit: '' });
    }
  });

  it('are canceled with their child processes', async () => {
    const { id } = await launch('slow');
    await reached(admin, id, (job) => job['status'] === 'running');
    const cancel = `/api/v2/jobs/${id}/cancel/`;
    expect((await admin.get(cancel)).json).toEqual({ can_cancel: true });
    expect((await admin.post(cancel)).status).toBe(202);
    const job = await ended(admin, id);
    expect(job).toMatchObject({ status: 'canceled', failed: true });
    expect((await admin.get(cancel)).json).toEqual({ can_cancel: false });
    expect((await admin.post(cancel)).status).toBe(405);
  });

  it('are killed if they ignore SIGTERM', { tags: ['long'] }, async () => {
    const { id } = await launch('stubborn');
    await reached(admin, id, (job) => job['status'] === 'running');
    // From then on it ignores the signal.
    await until(async () => (await stdout(id)).includes('begun'));
    await admin.post(`/api/v2/jobs/${id}/cancel/`);
    expect(await ended(admin, id)).toMatchObject({ status: 'canceled' });
  });

  it('keep a limited amount of output', async () => {
    const { id } = await launch('flood');
    expect(await ended(admin, id)).toMatchObject({ status: 'successful' });
    const output = await stdout(id);
    expect(output.length).toBeLessThan(4 * 1024 * 1024 + 200);
    expect(output).toMatch(/Output beyond \d+ characters is not kept/);
  });

  it('run a few at a time while others wait; a waiting job is canceled at once', async () => {
    const ids = [];
    for (let left = 6; left > 0; left--) ids.push((await launch('slow')).id);
    await reached(admin, ids[3] ?? 0, (job) => job['status'] === 'running');
    const waiting = (await admin.get('/api/v2/jobs/?status=pending')).json;
    expect(waiting.count).toBe(2);
    for (const id of ids.toReversed()) await admin.post(`/api/v2/jobs/${id}/cancel/`);
    for (const id of ids) expect(await ended(admin, id)).toMatchObject({ status: 'canceled' });
  });

  it('of a template run one after the other, unless they may run simultaneously', async () => {
    await admin.patch(template['url'] as string, { allow_simultaneous: false });
    try {
      const [first, second, third] = [await launch('slow'), await launch('slow'), await launch()];
      const other = await admin.post('/api/v2/job_templates/', {
        ...{ name: 'Other', inventory: template['inventory'], project: template['project'] },
        ...{ playbook: template['playbook'] },
      });
      await reached(admin, first?.id ?? 0, (job) => job['status'] === 'running');
      const passing = (await admin.post(`${other.json['url']}launch/`)).json;
      expect(await ended(admin, passing.id)).toMatchObject({ status: 'successful' });
      const waiting = (await admin.get('/api/v2/jobs/?status=pending&order_by=id')).json;
      expect(waiting.results.map(({ id }) => id)).toEqual([second?.id, third?.id]);
      // The first one to ask is not the first one launched.
      await service.database.execute("UPDATE service_job SET status = 'pending' WHERE id = $1", [first?.id]);
      const ofSecond = { id: second?.id ?? 0, runner: randomUUID(), at: new Date() };
      expect(await service.database.transaction((asked) => startJob(asked, ofSecond))).toBe('blocked');
      await service.database.execute("UPDATE service_job SET status = 'running' WHERE id = $1", [first?.id]);
      await admin.post(`/api/v2/jobs/${second?.id}/cancel/`);
      await admin.post(`/api/v2/jobs/${first?.id}/cancel/`);
      expect(await ended(admin, third?.id ?? 0)).toMatchObject({ status: 'successful' });
    } finally {
      await admin.patch(template['url'] as string, { allow_simultaneous: true });
    }
  });

  it('never leave the project folder', async () => {
    for (const playbook of [
      '/etc/passwd.yml',
      '../x.yml',
      'a/../../x.yml',
      'a//b.yml',
      'x.sh',
      '..\\x.yml',
    ]) {
      expect((await admin.patch(template['url'] as string, { playbook })).status).toBe(400);
    }
    const outside = join(projects, 'outside.yml');
    writeFileSync(outside, '- hosts: all');
    for (const playbook of ['link.yml', 'removed.yml']) {
      const place = join(projects, 'demo_project', playbook);
      writeFileSync(place, '- hosts: all');
      const { inventory, project } = template;
      const made = await admin.post('/api/v2/job_templates/', {
        name: playbook,
        playbook,
        inventory,
        project,
      });
      expect(made.status).toBe(201);
      rmSync(place);
      if (playbook === 'link.yml') symlinkSync(outside, place);
      expect((await admin.patch(made.headers.location ?? '', { playbook })).json).toMatchObject({
        playbook: [expect.stringContaining('no playbook')],
      });
      const { id } = (await admin.post(`${made.headers.location}launch/`)).json;
      const job = await ended(admin, id);
      expect(job['status']).toBe('error');
      expect(job['job_explanation']).toMatch(/outside its project|^Not found on this machine: the playbook/);
      expect((await admin.delete(made.headers.location ?? '')).status).toBe(204);
      expect((await admin.get(`/api/v2/jobs/${id}/`)).json['job_template']).toBeNull();
    }
  });

  it('do not run with a host whose name Ansible could read as another', async () => {
    const bad = await admin.post('/api/v2/hosts/', {
      name: '-oProxyCommand=id',
      inventory: template['inventory'],
    });
    const refused = await launch();
    expect(await ended(admin, refused.id)).toMatchObject({ status: 'error' });
    await service.database.execute('DELETE FROM main_host WHERE id = $1', [bad.json.id]);
  });

  it('are launched by admins of the organization, and visible to its auditors', async () => {
    const organization = template['organization'] as number;
    const users = new Map<string, Client>();
    for (const name of ['member', 'auditor', 'boss']) {
      await admin.post('/api/v2/users/', { username: name, password: 'long enough' });
      users.set(name, new Client(service.url, basic(name, 'long enough')));
    }
    const role = (name: string, of: string) =>
      service.database.execute(
        'INSERT INTO service_role (user_id, role, organization_id) SELECT id, $2, $3 FROM auth_user WHERE username = $1',
        [name, of, organization],
      );
    await role('member', 'member');
    await role('auditor', 'auditor');
    await role('boss', 'admin');
    const path = `/api/v2/job_templates/${template.id}/launch/`;
    const { id } = await launch();
    await ended(admin, id);
    const statuses = async (name: string) => {
      const client = users.get(name) ?? admin;
      return [
        (await client.get(path)).status,
        (await client.post(path)).status,
        (await client.get(`/api/v2/jobs/${id}/`)).status,
        (await client.get(`/api/v2/jobs/${id}/stdout/`)).status,
        (await client.post(`/api/v2/jobs/${id}/cancel/`)).status,
        (await client.patch(template['url'] as string, { description: '' })).status,
      ];
    };
    expect(await statuses('member')).toEqual([403, 403, 403, 403, 403, 403]);
    expect(await statuses('auditor')).toEqual([200, 403, 200, 200, 403, 403]);
    expect(await statuses('boss')).toEqual([200, 201, 200, 200, 405, 200]);
    const { token } = (await admin.post('/api/v2/tokens/', { scope: 'read' })).json;
    const reader = new Client(service.url, bearer(token));
    expect((await reader.get(path)).status).toBe(200);
    expect((await reader.post(path)).status).toBe(403);
  });
});

describe('jobs of a service that ends', () => {
  it('are canceled when it is stopped', async () => {
    const service = await startTestService({ searchPath: fakeAnsible() });
    const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    await admin.patch('/api/v2/job_templates/1/', { limit: 'slow' });
    const { id } = (await admin.post('/api/v2/job_templates/1/launch/')).json;
    await reached(admin, id, (job) => job['status'] === 'running');
    const rows: { status: string; job_explanation: string }[] = [];
    const { database } = service;
    const close = database.close.bind(database);
    database.close = async () => {
      rows.push(
        ...(await database.query<{ status: string; job_explanation: string }>('SELECT * FROM service_job')),
      );
      await close();
    };
    await service.close();
    expect(rows[0]).toMatchObject({
      status: 'canceled',
      job_explanation: expect.stringContaining('stopped'),
    });
  });

  it('end in error at the next start after it was killed', { tags: ['long'] }, async () => {
    // With PostgreSQL another service may still run the job; a data folder belongs to one.
    const folder = mkdtempSync(join(tmpdir(), 'tokenctl-data-'));
    await prepareEmbedded(folder);
    const options = { database: { folder }, searchPath: fakeAnsible() };
    const first = await startTestService({ kind: 'the embedded database', ...options });
    await first.database.execute(
      `INSERT INTO service_job (name, status, playbook, runner, created, modified)
       VALUES ('left', 'running', 'x.yml', gen_random_uuid(), now(), now())`,
    );
    await first.close();
    const second = await startTestService({ kind: 'the embedded database', ...options });
    const admin = new Client(second.url, basic(ADMIN.username, ADMIN.password));
    expect((await admin.get('/api/v2/jobs/')).json.results[0]).toMatchObject({
      status: 'error',
      job_explanation: expect.stringContaining('stopped before'),
    });
    await second.close();
  });

  it('end in error with an explanation if ansible-playbook is not installed', async () => {
    const service = await startTestService({ searchPath: '/nonexistent' });
    const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    const { id } = (await admin.post('/api/v2/job_templates/1/launch/')).json;
    const job = await ended(admin, id);
    expect(job['status']).toBe('error');
    expect(job['job_explanation']).toMatch(/ansible-playbook is not installed/);
    await service.close();
  });
});
