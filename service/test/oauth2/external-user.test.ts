import { sql } from '@tokenctl/common/db/sql.ts';
import { expect, it } from 'vitest';
import { externalAccount } from '../../src/access.ts';
import { findUser, IS_EXTERNAL } from '../../src/store/users.ts';
import { startTestService } from '../support/service.ts';

it('recognizes users of an identity provider in SQL as in code', async () => {
  const { database, close } = await startTestService();
  const kinds = [];
  for (let mask = 0; mask < 16; mask++) {
    const [user] = await database.query<{ id: number }>(
      'INSERT INTO auth_user (username, password) VALUES ($1, $2) RETURNING id',
      [`user${mask}`, mask & 1 ? '!unusable' : 'pbkdf2_sha256$1$a$b'],
    );
    const id = user?.id ?? 0;
    await database.execute('INSERT INTO main_profile (user_id, ldap_dn) VALUES ($1, $2)', [
      id,
      mask & 2 ? 'uid=user,dc=example' : '',
    ]);
    if (mask & 4) {
      await database.execute(
        "INSERT INTO social_auth_usersocialauth (provider, uid, user_id) VALUES ('github', $1::text, $2)",
        [String(mask), id],
      );
    }
    if (mask & 8) {
      await database.execute("INSERT INTO sso_userenterpriseauth (provider, user_id) VALUES ('saml', $1)", [
        id,
      ]);
    }
    const record = await findUser(database, id);
    const row = await sql`SELECT ${IS_EXTERNAL} AS external FROM auth_user u
      WHERE u.id = ${id}`.first<{ external: boolean }>(database);
    const inCode = record !== null && externalAccount(record) !== null;
    expect([mask, row?.external]).toEqual([mask, inCode]);
    kinds.push(inCode);
  }
  expect(kinds.filter(Boolean)).toHaveLength(13);
  await close();
});
