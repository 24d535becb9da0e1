import { TokenctlError } from '@tokenctl/common/errors.ts';
import { refused } from '@tokenctl/testing/refused.ts';
import { describe, expect, test } from 'vitest';
import type { Application } from '../../../../src/domain/token.ts';
import {
  deleteApplication,
  planDeletion,
  replaceSecret,
} from '../../../../src/operations/applications/change-application.ts';
import { findApplication } from '../../../../src/operations/applications/show-application.ts';
import { incidentFixture } from '../../../support/incident-fixture.ts';
import { token } from '../../../support/tokens.ts';

const NAME = { name: 'pipeline' };

function program(id: number, name = NAME.name): Application {
  return {
    ...{ id, name, clientType: 'confidential', grantType: 'password' },
    created: new Date('2026-01-01T00:00:00Z'),
  };
}

/** Two applications with a token each, and a personal token. */
async function applications() {
  const at = await incidentFixture('rest');
  at.target.alive.clear();
  at.target.programs.push(program(1), program(2, 'portal'));
  at.target.alive.set(1, token({ id: 1, application: { id: 1, name: NAME.name } }));
  at.target.alive.set(2, token({ id: 2, application: { id: 2, name: 'portal' } }));
  at.target.alive.set(3, token({ id: 3 }));
  const plan = (name: { name: string; id?: number } = NAME) => planDeletion({ ...at.common, name });
  const entries = async () => await Array.fromAsync(at.log.entries());
  return { ...at, common: at.common, plan, entries };
}

describe('deleting an application', () => {
  test('revokes its tokens, deletes it, and lists both again', async () => {
    await using at = await applications();
    const report = await deleteApplication({ ...at.common, plan: await at.plan() });
    expect(report).toMatchObject({ result: 'done', left: { application: false, accessTokens: 0 } });
    expect([...at.target.alive.keys()]).toEqual([2, 3]);
    expect(at.target.programs.map(({ id }) => id)).toEqual([2]);
    const [opening] = await at.entries();
    expect(opening).toMatchObject({
      kind: 'intent',
      operation: 'applications.delete',
      data: { step: 'operation', application: { id: 1, name: 'pipeline' }, planned: { tokens: 1 } },
    });
  });

  test('of a name that several have needs the id, and spares the other', async () => {
    await using at = await applications();
    at.target.programs.push(program(5));
    at.target.alive.set(5, token({ id: 5, application: { id: 5, name: NAME.name } }));
    await expect(at.plan()).rejects.toMatchObject(refused('usage', 'id 5'));
    const plan = await at.plan({ ...NAME, id: 5 });
    expect(plan.accessTokens.total).toBe(1);
    expect(await deleteApplication({ ...at.common, plan })).toMatchObject({ result: 'done' });
    expect([...at.target.alive.keys()]).toEqual([1, 2, 3]);
  });

  test('is refused for the application of the own token', async () => {
    await using at = await applications();
    at.target.own = [1];
    await expect(at.plan()).rejects.toMatchObject({ code: 'lockout_refused' });
    await expect(at.plan({ name: 'portal' })).resolves.toMatchObject({ accessTokens: { total: 1 } });
  });

  test('that the target refuses is partly done, and says what is left', async () => {
    await using at = await applications();
    at.target.access.onChange = () => {
      throw new TokenctlError('permission_refused', 'Not allowed');
    };
    const report = await deleteApplication({ ...at.common, plan: await at.plan() });
    expect(report).toMatchObject({ result: 'partly', left: { application: true, accessTokens: 0 } });
    expect((await at.entries()).at(-1)?.data).toMatchObject({ result: 'partly' });
  });

  test('that revokes no token, but deletes the application with them, fails no step', async () => {
    await using at = await applications();
    at.target.onRevoke = () => {
      throw new TokenctlError('target_misbehaved', 'The tokens could not be read');
    };
    at.target.access.onChange = () => at.target.alive.delete(1);
    const report = await deleteApplication({ ...at.common, plan: await at.plan() });
    expect(report).toMatchObject({ result: 'done', left: { application: false, accessTokens: 0 } });
    expect(report.steps.map(({ result }) => result)).toEqual(['unchanged', 'done']);
    expect(report.steps[0]?.message).toContain('deleted with the application instead');
  });

  test('of an unknown one is refused before anything is recorded', async () => {
    await using at = await applications();
    await expect(at.plan({ name: 'pipelnie' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(at.plan({ name: 'portal', id: 1 })).rejects.toMatchObject({ code: 'not_found' });
    expect(await at.entries()).toEqual([]);
  });
});

test('a new secret is recorded before and after, and is not in the log', async () => {
  await using at = await applications();
  const application = await findApplication(at.target, NAME);
  const secret = await replaceSecret({ ...at.common, application });
  expect(secret.reveal()).toBe('new-secret-of-1');
  const entries = await at.entries();
  expect(entries.map(({ kind }) => kind)).toEqual(['intent', 'outcome']);
  expect(JSON.stringify(entries)).not.toContain('new-secret');
});
