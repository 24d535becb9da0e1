import { join } from 'node:path';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { describe, expect, it } from 'vitest';
import { incidentLift } from '../../../jobs/incident-lift.ts';
import { cachedAuditLog } from '../../../src/app/cached-log.ts';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { incidentOperations } from '../../../src/domain/incident/incident.ts';
import type { TargetJobContext } from '../../../src/operations/jobs/job.ts';
import type { AuditLog } from '../../../src/operations/ports/audit-log.ts';
import { dryRun } from '../../../src/targets/dry-run.ts';
import { draft, stillClock } from '../../support/drafts.ts';
import { entriesOf, failingFrom } from '../../support/fixture.ts';
import { incidentFixture, NO_MEASURE } from '../../support/incident-fixture.ts';
import { installed } from '../../support/memory-target.ts';
import { unusedFiles, unusedServices } from '../../support/unused-files.ts';

const HOUR = 3_600_000;

/** A target with an audit log, and the context of a run some hours after lockdowns. */
async function place() {
  const made = await incidentFixture('database');
  const before = made.target.values;
  const contextAfter = (hours: number, other: Partial<TargetJobContext> = {}): TargetJobContext => {
    const now = new Date(stillClock.now().getTime() + hours * HOUR);
    return {
      ...made.common,
      clock: { now: () => now },
      actor: { user: 'root', job: 'lift@test', job_run: 'run-1' },
      files: unusedFiles,
      services: unusedServices,
      due: now,
      dryRun: false,
      signal: new AbortController().signal,
      ...other,
    };
  };
  return { ...made, before, contextAfter, [Symbol.asyncDispose]: () => made[Symbol.asyncDispose]() };
}

describe('lifting incidents on schedule', () => {
  it('lifts what is over and nothing else, under the run of the job', async () => {
    await using at = await place();
    const { incident } = await at.lockDown({ lasts: 2 * HOUR });
    const other = await at.lockDown({ lasts: 9 * HOUR, scope: { kind: 'users', names: ['alice'] } });
    const unlimited = await at.lockDown({
      scope: { kind: 'users', names: ['bob'] },
      measures: { ...NO_MEASURE, deactivate: true },
    });
    expect(await incidentLift.run(at.contextAfter(1.9), {})).toEqual({
      message: 'No incident is due',
      summary: { due: [] },
    });
    const entries = (await at.entries()).length;
    const report = await incidentLift.run(at.contextAfter(2), {});
    expect(report).toMatchObject({ message: `Lifted ${incident}`, summary: { lifted: [incident] } });
    expect(report.notices).toMatchObject([{ severity: 'info', subject: expect.stringContaining(incident) }]);
    const written = (await at.entries()).slice(entries);
    expect(written.length).toBeGreaterThan(0);
    expect(written.every(({ actor }) => actor['job_run'] === 'run-1')).toBe(true);
    expect((await at.status()).map(({ id }) => id)).toEqual([other.incident, unlimited.incident]);
    expect(at.target.values.AUTH_BASIC_ENABLED).toBe(false);
    await incidentLift.run(at.contextAfter(100), {});
    expect((await at.status()).map(({ id }) => id)).toEqual([unlimited.incident]);
    expect(at.target.values).toEqual(at.before);
    expect(at.target.people.map(({ isActive }) => isActive)).toEqual([true, true, false]);
  });

  it('changes nothing in a dry run, and says what it would lift', async () => {
    await using at = await place();
    const { incident } = await at.lockDown({ lasts: HOUR });
    const locked = at.target.values;
    const entries = (await at.entries()).length;
    const context = at.contextAfter(2, { dryRun: true, target: dryRun(at.target) });
    expect(await incidentLift.run(context, {})).toEqual({
      message: `Would lift ${incident}`,
      summary: { due: [incident] },
    });
    expect(at.target.values).toEqual(locked);
    expect((await at.entries()).length).toBe(entries);
  });

  it('changes nothing where the audit log cannot be written', async () => {
    await using at = await place();
    await at.lockDown({ lasts: HOUR });
    const locked = at.target.values;
    const context = at.contextAfter(2, { log: failingFrom(at.log, 1) });
    await expect(incidentLift.run(context, {})).rejects.toMatchObject({ code: 'audit_unavailable' });
    expect(at.target.values).toEqual(locked);
  });

  it('fails where something is left, so that it is tried again, and the next run finishes', async () => {
    await using at = await place();
    const { incident } = await at.lockDown({ lasts: HOUR });
    at.target.forgetful = true;
    await expect(incidentLift.run(at.contextAfter(2), {})).rejects.toMatchObject({
      code: 'partly_done',
      message: expect.stringContaining(incident),
      details: { lifted: [] },
    });
    at.target.forgetful = false;
    expect(await incidentLift.run(at.contextAfter(2), {})).toMatchObject({ summary: { lifted: [incident] } });
    expect(at.target.values).toEqual(at.before);
  });

  it('warns of what someone has changed since, and leaves it', async () => {
    await using at = await place();
    await at.lockDown({ lasts: HOUR });
    const OAUTH2_PROVIDER = { ...installed.OAUTH2_PROVIDER, ...at.target.values.OAUTH2_PROVIDER };
    at.target.values = {
      ...at.target.values,
      OAUTH2_PROVIDER: { ...OAUTH2_PROVIDER, ACCESS_TOKEN_EXPIRE_SECONDS: 600 },
    };
    expect((await incidentLift.run(at.contextAfter(2), {})).notices).toMatchObject([
      { severity: 'warning', text: expect.stringContaining('ACCESS_TOKEN_EXPIRE_SECONDS was not restored') },
    ]);
    expect(at.target.values.OAUTH2_PROVIDER?.ACCESS_TOKEN_EXPIRE_SECONDS).toBe(600);
  });

  it('begins no further incident once it is told to end', async () => {
    await using at = await place();
    await at.lockDown({ lasts: HOUR });
    const second = await at.lockDown({ lasts: HOUR, scope: { kind: 'users', names: ['alice'] } });
    const stop = new AbortController();
    at.target.onUser = () => stop.abort();
    expect(await incidentLift.run(at.contextAfter(2, { signal: stop.signal }), {})).toMatchObject({
      interrupted: true,
    });
    expect((await at.status()).map(({ id }) => id)).toContain(second.incident);
    at.target.onUser = () => undefined;
    await incidentLift.run(at.contextAfter(2), {});
    expect(await at.status()).toEqual([]);
    expect(at.target.values).toEqual(at.before);
  });
});

describe('a log that remembers the entries of some operations', () => {
  const selection = { operations: incidentOperations };

  /** A log that counts from where it was read. */
  function counting(log: AuditLog) {
    const readFrom: number[] = [];
    const entries: AuditLog['entries'] = (from, only) => {
      readFrom.push(from ?? 1);
      return log.entries(from, only);
    };
    return { readFrom, log: { ...failingFrom(log, Number.POSITIVE_INFINITY), entries } };
  }

  it('reads each of them once, and gives what was appended meanwhile', async () => {
    await using folder = await temporaryFolder();
    const file = openFileLog({ path: join(folder.path, 'audit.jsonl'), clock: stillClock });
    const { log, readFrom } = counting(file);
    const remembering = cachedAuditLog(log, selection);
    const numbers = async () => {
      const found: number[] = [];
      for await (const { seq } of remembering.entries(1, selection)) found.push(seq);
      return found;
    };
    expect(await numbers()).toEqual([]);
    await file.append(draft({ operation: 'incident.lockdown' }));
    await file.append(draft());
    expect(await Promise.all([numbers(), numbers()])).toEqual([[1], [1]]);
    await remembering.append(draft({ operation: 'incident.lift' }));
    expect(await numbers()).toEqual([1, 3]);
    expect(readFrom).toEqual([1, 3]);
    expect((await entriesOf(remembering)).map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });
});
