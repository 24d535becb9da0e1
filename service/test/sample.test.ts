import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampleEstate } from '../src/sample/estate.ts';
import { sampleOperations } from '../src/sample/operations.ts';
import { storeEstate } from '../src/sample/store-estate.ts';
import { storeOperations, writeSamplePlaybooks } from '../src/sample/store-operations.ts';
import type { RunningService } from '../src/server.ts';
import { ADMIN, type Body, basic, Client, startTestService } from './support/service.ts';

const NOW = new Date('2026-06-17T15:30:00Z');
const SIZE = { users: 60, tokens: 50 };
const DAY_MS = 86_400_000;

describe('the sample operations', () => {
  const estate = sampleEstate(SIZE, { now: NOW });
  const operations = sampleOperations(estate, { now: NOW });

  it('are the same for the same time', () => {
    expect(sampleOperations(estate, { now: NOW })).toEqual(operations);
  });

  it('are a month of jobs that ended before now, in the order of their launch', () => {
    const { jobs } = operations;
    expect(jobs.length).toBeGreaterThan(150);
    expect(jobs.length).toBeLessThan(450);
    const created = jobs.map((job) => job.created.getTime());
    expect(created).toEqual(created.toSorted((one, other) => one - other));
    for (const job of jobs) {
      expect(job.created.getTime()).toBeGreaterThan(NOW.getTime() - 32 * DAY_MS);
      expect(job.started.getTime()).toBeGreaterThan(job.created.getTime());
      expect(job.finished.getTime()).toBeGreaterThan(job.started.getTime());
      expect(job.finished.getTime()).toBeLessThan(NOW.getTime());
      expect(job.output).toContain('PLAY [');
    }
    const share = (status: string) => jobs.filter((job) => job.status === status).length / jobs.length;
    expect(share('successful')).toBeGreaterThan(0.8);
    for (const status of ['failed', 'error', 'canceled'])
      expect([status, share(status) > 0]).toEqual([status, true]);
    // Each template, one job at a time.
    for (const { name } of operations.templates) {
      const own = jobs.filter(({ template }) => template === name);
      expect([name, own.length > 0]).toEqual([name, true]);
      for (const [index, job] of own.entries()) {
        const before = own[index - 1];
        if (before !== undefined) expect(job.started.getTime()).toBeGreaterThan(before.finished.getTime());
      }
    }
  });

  describe('in a service', () => {
    let service: RunningService;
    let admin: Client;
    const projects = mkdtempSync(join(tmpdir(), 'tokenctl-projects-'));
    const get = async (path: string): Promise<Body> => {
      const { status, json } = await admin.get(`/api/v2/${path}`);
      expect([path, status]).toEqual([path, 200]);
      return json;
    };

    beforeAll(async () => {
      service = await startTestService({ projects, now: () => NOW });
      admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
      await storeEstate(service.database, estate);
      await writeSamplePlaybooks(projects);
      await storeOperations(service.database, operations);
    });
    afterAll(() => service?.close());

    it('are what the dashboard counts', async () => {
      const { hosts, teams, jobs } = await get('dashboard/');
      // One is the host of the demo inventory.
      expect([hosts, teams]).toMatchObject([{ total: 41 }, { total: 2 }]);
      expect(jobs).toMatchObject({
        total: operations.jobs.length,
        running: { total: 0 },
        pending: { total: 0 },
      });
      const { jobs: graph } = (await get('dashboard/graphs/jobs/')) as Body & {
        jobs: Record<string, number[][]>;
      };
      for (const [status, series] of Object.entries(graph)) {
        const sum = series.reduce((all, [, count = 0]) => all + count, 0);
        expect([status, sum]).toEqual([status, ((jobs as Body)[status] as Body)['total']]);
      }
    });

    it('have jobs with their output, hosts and launches', async () => {
      const failed = (await get('jobs/?status=failed&page_size=100')).results;
      expect(failed.length).toBeGreaterThan(0);
      for (const { id, related } of failed) {
        const { retry_counts: counts } = await get(`jobs/${id}/relaunch/`);
        expect([id, counts]).toMatchObject([id, { failed: 1 }]);
        const { stdout } = related as Record<string, string>;
        expect((await admin.get(`${stdout}?format=txt`)).text).toContain('fatal: [');
      }
      const { count } = await get('activity_stream/?object1=job&page_size=1');
      expect(count).toBe(operations.jobs.length);
      const [job] = (await get('jobs/?order_by=-id&page_size=1')).results;
      expect(job?.['summary_fields']).toMatchObject({
        inventory: { name: expect.any(String) },
        project: { name: 'Operations' },
        created_by: { username: expect.any(String) },
      });
    });

    it('have playbooks that the service finds, and teams that may launch', async () => {
      const [project] = (await get('projects/?name=Operations')).results;
      const playbooks = (await admin.get(`/api/v2/projects/${project?.id}/playbooks/`)).json;
      expect(playbooks).toEqual(['backup.yml', 'certificates.yml', 'deploy.yml', 'patch.yml', 'restart.yml']);
      expect(readFileSync(join(projects, 'operations', 'deploy.yml'), 'utf8')).toContain('hosts: all');
      const [team] = (await get('teams/?name=On%20call')).results;
      const roles = (await get(`teams/${team?.id}/roles/`)).results;
      expect(roles.map(({ name }) => name)).toEqual(expect.arrayContaining(['Execute', 'Read']));
    });
  });
});
