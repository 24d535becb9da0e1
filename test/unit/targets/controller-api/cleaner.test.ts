import { Secret } from '@tokenctl/common/secret.ts';
import { describe, expect, it } from 'vitest';
import type { CleaningAct } from '../../../../src/domain/investigation/cleaning.ts';
import { openApiCleaner } from '../../../../src/targets/controller-api/cleaner.ts';
import { openApiEvidence } from '../../../../src/targets/controller-api/evidence.ts';
import { FakeController } from '../../../support/fake-controller.ts';
import { HAS_RECORDING, recordedExchange } from '../../../support/recordings.ts';

interface Sent {
  readonly request: string;
  readonly body: string;
}

/** A controller that answers as recorded: by method and path. */
async function opened(
  answers: Readonly<Record<string, { readonly status: number; readonly response: unknown }>>,
) {
  const fake = await FakeController.start();
  const sent: Sent[] = [];
  fake.fault = (request, response) => {
    const key = `${request.method} ${request.url?.split('?')[0]}`;
    const answer = answers[key];
    if (answer === undefined) return false;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      sent.push({ request: key, body: Buffer.concat(chunks).toString() });
      response
        .writeHead(answer.status, { 'content-type': 'application/json' })
        .end(JSON.stringify(answer.response));
    });
    return true;
  };
  const options = {
    address: fake.address,
    credential: { kind: 'token', token: new Secret('x') } as const,
    verifyTls: true,
  };
  const [cleaner, evidence] = [openApiCleaner(options), openApiEvidence(options)];
  const close = async () => {
    await cleaner.close();
    await evidence.close();
    await fake[Symbol.asyncDispose]();
  };
  return { cleaner, evidence, sent, [Symbol.asyncDispose]: close };
}

const VALUES = { write: {}, expected: {}, recorded: {}, category: null, entry: null };
const reset = (field: string): CleaningAct => ({
  ...{ act: 'restore', to: 'before', path: '/api/v2/settings/all/', object: { kind: 'setting', id: null } },
  ...{
    fields: [{ field, entry: 1, lastEntry: 1 }],
    isDefault: true,
    newWebhookKey: null,
    survey: null,
    undoable: true,
  },
});

describe.skipIf(!HAS_RECORDING)('a cleaning over REST, as recorded', () => {
  it('resets a setting to the default that the controller states', async () => {
    const path = '/api/v2/settings/authentication/';
    const described = recordedExchange((each) => each.method === 'OPTIONS' && each.path === path);
    await using at = await opened({
      [`OPTIONS ${path}`]: described,
      'PATCH /api/v2/settings/all/': { status: 200, response: {} },
    });
    const wanted = ['SESSION_COOKIE_AGE', 'OAUTH2_PROVIDER', 'NO_SUCH_SETTING'].map((name) => ({
      name,
      category: 'authentication',
    }));
    expect([...(await at.evidence.settingDefaults(wanted))]).toEqual([
      ['SESSION_COOKIE_AGE', { value: 1800 }],
      ['OAUTH2_PROVIDER', { value: expect.objectContaining({ AUTHORIZATION_CODE_EXPIRE_SECONDS: 600 }) }],
    ]);
    const values = { ...VALUES, category: 'authentication' };
    expect(await at.cleaner.apply(reset('SESSION_COOKIE_AGE'), values)).toBe('done');
    expect(at.sent.at(-1)).toEqual({
      request: 'PATCH /api/v2/settings/all/',
      body: '{"SESSION_COOKIE_AGE":1800}',
    });
    await expect(at.cleaner.apply(reset('NO_SUCH_SETTING'), values)).rejects.toThrow(
      'does not report the default',
    );
    // Which settings these are is not known: nothing is asked, nothing is written.
    const before = at.sent.length;
    await expect(at.cleaner.apply(reset('SESSION_COOKIE_AGE'), VALUES)).rejects.toThrow('does not report');
    expect(at.sent.length).toBe(before);
  });

  it('makes a role assignment again with the request that a controller takes', async () => {
    const path = '/api/v2/role_user_assignments/';
    const made = recordedExchange(
      (each) => each.method === 'POST' && each.path === path && each.status === 201,
    );
    await using at = await opened({ [`POST ${path}`]: made });
    const act: CleaningAct = {
      ...{ act: 'assign', path, object: { kind: 'role_user_assignment', id: 14 }, undoable: true },
      assignment: { definition: 29, holder: { kind: 'user', id: 3 }, about: 1 },
    };
    expect(await at.cleaner.apply(act, VALUES)).toBe('done');
    expect(JSON.parse(at.sent[0]?.body ?? '')).toEqual(made.body);
  });

  it('says that a name is taken, and which fields were rejected', async () => {
    const users = recordedExchange(
      ({ method, status, response }) =>
        method === 'POST' && status === 400 && JSON.stringify(response).includes('already exists'),
    );
    await using at = await opened({
      'PATCH /api/v2/users/3/': users,
      'PATCH /api/v2/job_templates/7/': { status: 400, response: { limit: ['Too long.'] } },
      'PATCH /api/v2/job_templates/8/': { status: 400, response: { other: ['No.'] } },
    });
    const restore = (path: string, kind: string): CleaningAct => ({
      ...{ act: 'restore', to: 'before', path, object: { kind, id: 3 }, isDefault: false },
      ...{
        fields: [{ field: 'limit', entry: 1, lastEntry: 1 }],
        newWebhookKey: null,
        survey: null,
        undoable: true,
      },
    });
    const apply = (path: string, kind: string) =>
      at.cleaner.apply(restore(path, kind), { ...VALUES, write: { limit: 'x' } });
    await expect(apply('/api/v2/users/3/', 'user')).rejects.toThrow(
      /restore fields: another object already has the name$/,
    );
    await expect(apply('/api/v2/job_templates/7/', 'job_template')).rejects.toThrow(/rejected limit$/);
    await expect(apply('/api/v2/job_templates/8/', 'job_template')).rejects.toThrow(
      /restore fields \(HTTP 400\)$/,
    );
  });
});
