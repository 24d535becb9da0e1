import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ApiDescription, resourceTable } from '../scripts/service-table.ts';
import { Client, useService } from './support/service.ts';

interface Description {
  readonly openapi: string;
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { summary?: string; operationId?: string }>>>
  >;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

describe('the OpenAPI description', () => {
  const { service } = useService();
  let description: Description;
  beforeAll(async () => {
    const answer = await new Client(service.url).get('/api/v2/openapi.json');
    expect(answer.status).toBe(200);
    description = answer.json as unknown as Description;
  });

  it('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate({ ...structuredClone(description) });
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
    expect(description.openapi).toBe('3.1.0');
  });

  it('names every address, with what can be done there', () => {
    const paths = Object.keys(description.paths);
    for (const path of [
      ...['/api/', '/api/v2/', '/api/login/', '/api/logout/', '/metrics', '/api/v2/metrics/'],
      ...['/api/v2/tokens/{id}/', '/api/v2/job_templates/{id}/launch/', '/api/v2/jobs/{id}/stdout/'],
      ...['/api/o/authorize/', '/api/o/token/', '/api/o/revoke_token/', '/api/v2/settings/{category}/'],
    ]) {
      expect(paths).toContain(path);
    }
    expect(Object.keys(description.paths['/api/v2/tokens/{id}/'] ?? {})).toEqual(
      expect.arrayContaining(['get', 'put', 'patch', 'delete']),
    );
    expect(description.components.schemas).toHaveProperty('o_auth2_access_token');
  });

  it('calls every operation something, each by a name of its own', () => {
    const operations = Object.values(description.paths).flatMap((item) =>
      METHODS.flatMap((method) => item[method] ?? []),
    );
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { summary } of operations) expect(summary).not.toMatch(/^\/|^$/);
  });

  it('is what the table in service/docs/service.md is made from', () => {
    const page = readFileSync(new URL('../docs/service.md', import.meta.url), 'utf8');
    const table = resourceTable(description as unknown as ApiDescription);
    // Where it differs: node service/scripts/service-table.ts
    expect(page).toContain(table);
  });

  it('is answered as it says: nothing is described that is not there', async () => {
    const client = new Client(service.url);
    for (const [path, item] of Object.entries(description.paths)) {
      const at = path.replace('{category}', 'all').replaceAll(/\{\w+\}/g, '1');
      for (const method of METHODS.filter((name) => name in item)) {
        const { status } = await client.send(method.toUpperCase(), at);
        expect([method, path, status]).not.toEqual([method, path, 404]);
        expect([method, path, status]).not.toEqual([method, path, 405]);
      }
    }
  });
});
