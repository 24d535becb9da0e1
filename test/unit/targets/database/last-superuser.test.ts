import { describe, expect, it } from 'vitest';
import type { Target } from '../../../../src/operations/ports/target.ts';
import { ALICE, LAYOUTS, LEAVER, testDatabase } from '../../../support/test-database.ts';

/** More than one try: the order in which two transactions begin is not ours. */
const TRIES = 10;

describe.each(LAYOUTS)('superusers in the tables of the %s', (layout) => {
  const place = testDatabase(layout);
  const superusers = async () => {
    const { users } = place.tables;
    const rows = await place.database.query<{ id: number }>(
      `SELECT id FROM ${users} WHERE is_superuser AND is_active ORDER BY id`,
    );
    return rows.map(({ id }) => id);
  };
  const reset = (sql: string) => place.database.execute(`UPDATE ${place.tables.users} SET ${sql}`);
  const spare = { spareLastSuperuser: true };

  it('who are disabled by two receivers at the same time never all go', async () => {
    await reset('is_superuser = false');
    await place.database.execute(
      `UPDATE ${place.tables.users} SET is_superuser = true WHERE id IN (${ALICE}, ${LEAVER})`,
    );
    const receivers: readonly [Target, Target] = [place.target, await place.open()];
    for (let count = 0; count < TRIES; count += 1) {
      await reset('is_active = true');
      const [one, other] = receivers;
      const ends = await Promise.allSettled([
        one.users.setActive(ALICE, false, spare),
        other.users.setActive(LEAVER, false, spare),
      ]);
      expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(ends.find(({ status }) => status === 'rejected')).toMatchObject({
        reason: { code: 'lockout_refused' },
      });
      expect(await superusers()).toHaveLength(1);
    }
  });

  it('are deactivated like others if another one is left, and the last one if a person names it', async () => {
    await reset('is_superuser = true, is_active = true');
    expect(await place.target.users.setActive(ALICE, false, spare)).toBe(true);
    await place.database.execute(
      `UPDATE ${place.tables.users} SET is_superuser = false WHERE id <> ${LEAVER}`,
    );
    await expect(place.target.users.setActive(LEAVER, false, spare)).rejects.toMatchObject({
      code: 'lockout_refused',
    });
    expect(await superusers()).toEqual([LEAVER]);
    expect(await place.target.users.setActive(LEAVER, false)).toBe(true);
    expect(await superusers()).toEqual([]);
  });
});
