import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { describe, expect, inject, it } from 'vitest';
import type { LockdownSnapshot } from '../../../src/console/case/lockdown-snapshot.ts';
import { carryOut, lockedDown } from './locked-down.ts';

/** Refuses in a database whatever a statement is about, as a full disk or a lost right does. */
async function refuse(url: string, on: string, condition = 'true'): Promise<void> {
  const database = await openOn(url);
  await database.script(`
    CREATE FUNCTION refuse_for_test() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF ${condition} THEN RAISE EXCEPTION 'refused for a test'; END IF;
      RETURN coalesce(NEW, OLD);
    END $$;
    CREATE TRIGGER refuse_for_test BEFORE ${on} FOR EACH ROW EXECUTE FUNCTION refuse_for_test()`);
  await database.close();
}

/** An investigated case, with what decides about an item of it by its text. */
async function investigated(settings?: (home: string) => string) {
  const world = await lockedDown(settings);
  await world.investigate();
  const { items } = await world.found();
  const idOf = (text: string) => items.find(({ summary }) => summary.includes(text))?.id ?? '';
  const [first] = (await world.read()).investigations;
  const decide = (change: object) =>
    carryOut(world.opened, {
      ...{ kind: 'incident clean', place: 'east-db', incident: world.incident, investigation: first?.name },
      ...{ restContext: 'east', ticket: 'SEC-7', reason: 'stolen', ...change },
    });
  const itemOf = async (text: string) =>
    (await world.found()).items.find(({ summary }) => summary.includes(text));
  const recorded = async () => (await world.read()).runs.map(({ operation }) => operation);
  return { ...world, idOf, decide, itemOf, recorded };
}

describe('decisions about the items of a case', () => {
  it('hands items over to different people after one confirmation', async () => {
    const { idOf, decide, itemOf, recorded } = await investigated();
    const done = await decide({
      decided: {
        handedOver: [
          { items: [idOf('backdoor')], to: 'carol', reason: 'hers' },
          { items: [idOf('user mole')], to: 'security', reason: 'evidence' },
        ],
      },
    });
    expect(done.asked).toMatchObject({ act: 'reassign 2', type: '' });
    expect(done.asked?.plan).toMatch(
      /Reassigned to carol because .*backdoor.*Reassigned to security because .*mole/s,
    );
    expect(done.result?.text).toContain(
      'Recorded: 1 item reassigned to carol: notify them; 1 item reassigned to security: notify them.',
    );
    expect((await itemOf('backdoor'))?.handedOver).toMatchObject({ to: 'carol', why: 'hers' });
    expect((await itemOf('user mole'))?.handedOver).toMatchObject({ to: 'security', why: 'evidence' });
    expect((await recorded()).slice(-2)).toEqual(['incident.hand-over', 'incident.hand-over']);
  });

  it('says what was recorded where a later record fails, and ends nothing then', async () => {
    const log = await createDatabase(inject('postgresUrl'));
    const { idOf, decide, itemOf, recorded } = await investigated((home) => {
      writeFileSync(join(home, 'log'), log, { mode: 0o600 });
      return `auditLog: { database: { file: "${join(home, 'log')}" } }\n`;
    });
    await refuse(log, 'INSERT ON tokenctl_audit.entry', `NEW.line::text LIKE '%incident.hand-over%'`);
    const failed = await decide({
      items: [idOf('user mole')],
      decided: {
        legitimate: { items: [idOf('colleague')], reason: 'hired in May' },
        handedOver: [{ items: [idOf('backdoor')], to: 'carol', reason: 'hers' }],
      },
    });
    expect(failed).toMatchObject({
      ...{ state: 'failed', isInPart: true, failure: { code: 'audit_unavailable' } },
    });
    expect(failed.notices).toEqual([
      'Recorded: 1 item kept as legitimate. The rest was not recorded, and nothing was removed.',
    ]);
    expect((await itemOf('colleague'))?.fate).toBe('legitimate');
    expect(await itemOf('backdoor')).toMatchObject({ fate: 'remains', handedOver: null });
    expect(await itemOf('user mole')).toMatchObject({ fate: 'remains', state: 'there' });
    expect(await recorded()).not.toContain('incident.clean');
  });

  it('keeps what was recorded where a part of the cleaning fails, and a second try ends the rest', async () => {
    const { folder, idOf, decide, itemOf, read } = await investigated();
    const url = readFileSync(join(folder, 'database'), 'utf8').trim();
    await refuse(url, 'DELETE ON main_oauth2application');
    const [mole, backdoor] = [idOf('user mole'), idOf('backdoor')];
    const inPart = await decide({
      items: [mole, backdoor],
      decided: { handedOver: [{ items: [idOf('colleague')], to: 'carol', reason: 'hers' }] },
    });
    expect(inPart).toMatchObject({ state: 'done', outcome: 'partly', notices: [] });
    expect(inPart.result?.failure).toMatchObject({
      code: 'partly_done',
      hint: 'The case lists the remaining items. Decide about them again.',
    });
    const { text = '' } = inPart.result ?? {};
    expect(text).toMatch(/^Recorded: 1 item reassigned to carol: notify them\.\n/);
    expect(text).toContain('Partly cleaned: 1 of 2 items. 1 remains.');
    expect(text).toMatch(/^REMAINS: .*backdoor/m);
    expect(text).not.toContain('Verified: these items are ended.');
    // Steps that failed are not folded away.
    expect(inPart.result?.document?.some((part) => part.kind === 'lines' && part.fold !== null)).toBe(false);
    expect(await itemOf('colleague')).toMatchObject({ fate: 'handed_over', handedOver: { to: 'carol' } });
    expect(await itemOf('user mole')).toMatchObject({ remains: false });
    expect(await itemOf('backdoor')).toMatchObject({ fate: 'remains', remains: true });
    expect((await read()).investigations.at(-1)).toMatchObject({ isOutdated: false, remaining: 2 });

    const database = await openOn(url);
    await database.script('DROP TRIGGER refuse_for_test ON main_oauth2application');
    await database.close();
    const rest = await decide({
      investigation: (await read()).investigations.at(-1)?.name,
      items: [backdoor],
    });
    expect(rest).toMatchObject({ state: 'done', outcome: 'done', result: { failure: null } });
    expect((await read()).investigations.at(-1)).toMatchObject({ remaining: 1, handedOver: 1 });
  });

  it('names the beginning of the theft once, and the lockdown of a made user until it is lifted', async () => {
    const { opened, incident, idOf } = await investigated();
    const snapshot = async () =>
      (await opened.send(`/api/case/snapshot?place=east-db&incident=${incident}`)).json() as LockdownSnapshot;
    // No one said anything of the theft.
    expect(await snapshot()).toMatchObject({ beginning: { is: 'day before' }, others: [] });
    expect(idOf('user mole')).not.toBe('');
    const locked = await carryOut(opened, {
      ...{
        kind: 'incident lockdown',
        place: 'east-db',
        user: ['mole'],
        reason: 'stolen',
        theft: { of: incident },
      },
    });
    const { incident: other = '' } = (locked.result?.json ?? {}) as { readonly incident?: string };
    expect((await snapshot()).others).toEqual([{ incident: other, isLocked: true, names: ['mole'] }]);
    await carryOut(opened, { kind: 'incident lift', place: 'east-db', incident });
    // The case of bob is closed; that of mole is not.
    expect((await snapshot()).others).toEqual([{ incident: other, isLocked: true, names: ['mole'] }]);
    await carryOut(opened, { kind: 'incident lift', place: 'east-db', incident: other });
    expect((await snapshot()).others).toEqual([]);
  });
});
