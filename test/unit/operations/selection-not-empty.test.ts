import { describe, expect, test } from 'vitest';
import { revocationEnding } from '../../../src/cli/revocation/revocation-ending.ts';
import { expiryEnding } from '../../../src/cli/sessions/session-flow.ts';
import { uncheckedPath } from '../../../src/domain/access.ts';
import { documentText } from '../../../src/reports/document.ts';
import { databaseFixture, fixture } from '../../support/fixture.ts';
import { session } from '../../support/memory-sessions.ts';
import { token } from '../../support/tokens.ts';

describe('a selection that is not empty after its revocation', () => {
  test('is named over REST, and is no success', async () => {
    await using at = await fixture(3);
    at.target.onRevoke = (id) => {
      if (id === 2) at.target.alive.set(50, token({ id: 50 }));
      return undefined;
    };
    const report = await at.revokeAll({ selector: { all: true } });
    expect(report).toMatchObject({
      ...{ revoked: 3, verified: true },
      madeSince: { accessTokens: 1, refreshTokens: null },
    });
    const { document, failure } = revocationEnding(report);
    expect(documentText(document)).toContain('Created since the plan and still valid: 1 access token.');
    expect(failure).toMatchObject({
      code: 'partly_done',
      message: '1 access token was created since the plan',
      hint: expect.stringContaining('incident lockdown'),
    });
  });

  test('is named with criteria of single tokens', async () => {
    await using at = await fixture(3);
    at.target.onRevoke = () => {
      at.target.alive.set(50, token({ id: 50, scope: 'read' }));
      at.target.alive.set(51, token({ id: 51, scope: 'write' }));
      return undefined;
    };
    const report = await at.revokeAll({ selector: { scope: 'read' } });
    expect(report.madeSince).toEqual({ accessTokens: 1, refreshTokens: null });
  });

  test('is no success if its users have logged in again', async () => {
    await using at = await databaseFixture();
    at.target.logins.live.push(session());
    at.target.logins.onEnd = () => {
      at.target.logins.live.push(session({ created: new Date('2030-01-01T00:00:00Z') }));
      return undefined;
    };
    const report = await at.revokeAll({ withSessions: true, selector: { all: true } });
    expect(report.sessions).toMatchObject({ ended: 1, stillAlive: 0, begunSince: 1 });
    expect(revocationEnding(report).failure).toMatchObject({
      code: 'partly_done',
      message: '1 session was created since the plan',
    });
  });

  test('is not looked for where tokens were selected by id, which no new token has', async () => {
    await using at = await fixture(3);
    const report = await at.revokeAll({ selector: { ids: [1, 2] } });
    expect(report.madeSince).toBeNull();
    expect(revocationEnding(report).failure).toBeUndefined();
  });
});

describe('the end of sessions', () => {
  const report = {
    ...{
      planned: 1,
      ended: 1,
      stillAlive: 0,
      begunSince: 0,
      unseen: null,
      latestExpiry: null,
      verified: true,
    },
    ...{ interrupted: false, stopped: null, run: 'run', seconds: 1 },
  };

  test('is no success if users have logged in again', () => {
    expect(expiryEnding(report).failure).toBeUndefined();
    const { document, failure } = expiryEnding({ ...report, begunSince: 2 });
    expect(documentText(document)).toContain('Started since: 2 sessions.');
    expect(failure).toMatchObject({ code: 'partly_done', message: '2 sessions were started since' });
  });

  test('advises no second run where a cache may keep what was ended: it would end nothing more', () => {
    const remedy = 'To end them immediately, deactivate the users.';
    const unseen = uncheckedPath('sessions', 'Cached.', { until: '2026-11-20T10:14:30Z', remedy });
    const { document, failure } = expiryEnding({ ...report, verified: false, unseen });
    expect(documentText(document)).toContain('This ends at 2026-11-20T10:15Z at the latest.');
    expect(failure?.hint).toBe(`Running the command again would end nothing more. ${remedy}`);
  });
});
