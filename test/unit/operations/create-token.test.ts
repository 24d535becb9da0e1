import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createToken } from '../../../src/operations/tokens/create-token.ts';
import { databaseFixture, failingFrom, fixture } from '../../support/fixture.ts';

const request = { scope: 'write', description: 'for the job' } as const;

test('creates a token, gives its value, and records everything but that', async () => {
  await using at = await fixture();
  const { token, value } = await createToken({ ...at.common, request });
  const { fingerprint } = token;
  expect(at.target.alive.get(token.id)).toMatchObject({ scope: 'write', fingerprint });
  expect(await at.entries()).toMatchObject([
    { kind: 'intent', operation: 'tokens.create', data: request },
    { kind: 'outcome', open: [], data: { token: token.id, fingerprint } },
  ]);
  expect(await readFile(at.path, 'utf8')).not.toContain(value.reveal());
});

test('passes on whose it is to be, and records it', async () => {
  await using at = await databaseFixture();
  const { token } = await createToken({ ...at.common, request: { ...request, user: 'alice' } });
  expect(token.user?.username).toBe('alice');
  expect((await at.entries())[0]?.data).toMatchObject({ user: 'alice' });
});

test('withholds the value where the log cannot say that the token exists, and names it', async () => {
  await using at = await fixture();
  const work = createToken({ ...at.common, request, log: failingFrom(at.log, 2) });
  await expect(work).rejects.toMatchObject({
    code: 'outcome_unrecorded',
    details: { tokenId: expect.any(Number) },
  });
});

test('creates nothing where the log cannot be written', async () => {
  await using at = await fixture();
  const work = createToken({ ...at.common, request, log: failingFrom(at.log, 1) });
  await expect(work).rejects.toMatchObject({ code: 'audit_unavailable' });
  expect(at.target.alive.size).toBe(0);
});
