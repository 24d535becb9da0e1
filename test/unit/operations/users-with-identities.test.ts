import { expect, test } from 'vitest';
import type { User } from '../../../src/domain/token.ts';
import type { UserIdentities } from '../../../src/operations/ports/target-parts.ts';
import { usersWithIdentities } from '../../../src/operations/scope/users-with-identities.ts';

async function* listed<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  for (const item of items) yield await Promise.resolve(item);
}

const who = (id: number) => ({ id, username: `u${id}` }) as User;
const known = (id: number): UserIdentities => ({ id, email: `${id}@x.org`, ldapDn: null, accounts: [] });

test('pairs both lists by id, whoever was created or deleted between them', async () => {
  const users = {
    list: () => listed([1, 3, 4, 7, 9].map(who)),
    identities: () => listed([1, 2, 4, 8, 9].map(known)),
  };
  const pairs = await Array.fromAsync(usersWithIdentities({ users } as never));
  expect(pairs.map(({ user, identities }) => [user.id, identities?.email])).toEqual([
    [1, '1@x.org'],
    [3, undefined],
    [4, '4@x.org'],
    [7, undefined],
    [9, '9@x.org'],
  ]);
});

test('ends both readings where its reader stops', async () => {
  const ended: string[] = [];
  async function* endless<Item>(name: string, of: (id: number) => Item): AsyncGenerator<Item> {
    try {
      for (let id = 1; ; id += 1) yield await Promise.resolve(of(id));
    } finally {
      ended.push(name);
    }
  }
  const users = { list: () => endless('users', who), identities: () => endless('identities', known) };
  for await (const { user } of usersWithIdentities({ users } as never)) if (user.id === 3) break;
  expect(ended.sort()).toEqual(['identities', 'users']);
});
