import { Secret } from '@tokenctl/common/secret.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LdapConnection } from '../../../src/directories/ldap-connection.ts';
import { walkGroups } from '../../../src/directories/ldap-groups.ts';
import { DirectoryUsers } from '../../../src/domain/directory-users.ts';
import { entryOf, ldapServer, result } from '../../support/ldap-wire.ts';

const GROUP = 'cn=staff,dc=x';
const nameOf = (number: number) => `uid=u${number},dc=x`;
const members = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => nameOf(from + index));

/** The numbers of the users in a group of whose entry the server gives these attributes, one answer after another. */
async function inGroup(
  count: number,
  ...answers: readonly (Readonly<Record<string, readonly string[]>> | null)[]
) {
  let next = 0;
  const { url } = await ldapServer(({ id }, socket) => {
    const attributes = answers[Math.min(next++, answers.length - 1)];
    if (attributes == null) socket.write(result(id, 'done', 32));
    else socket.write(Buffer.concat([entryOf(id, GROUP, attributes), result(id, 'done')]));
  });
  const users = new DirectoryUsers();
  for (let number = 0; number < count; number += 1)
    users.add({ id: String(number), dn: nameOf(number), logins: [], emails: [], disabled: null });
  const connection = await LdapConnection.open({ name: 'It', url, startTls: false });
  onTestFinished(() => connection.close());
  await connection.bind('cn=reader', new Secret('hidden-password'));
  const found = await walkGroups(connection, [GROUP], { users, addPosixMembers: async () => undefined });
  return { size: found.size, asked: next };
}

describe('the members of a group', () => {
  test('are read in parts until the last one', async () => {
    const parts = [
      { 'member;range=0-2': members(0, 3) },
      { 'member;range=3-5': members(3, 6) },
      { 'member;range=6-*': members(6, 8) },
    ];
    expect(await inGroup(10, ...parts)).toEqual({ size: 8, asked: 3 });
  });

  test('may be more than fit in the arguments of a call', { tags: ['long'] }, async () => {
    expect(await inGroup(200_000, { member: members(0, 200_000) })).toEqual({ size: 200_000, asked: 1 });
  });

  test.each<[string, Parameters<typeof inGroup>[1][]]>([
    ['the same part again and again', [{ 'member;range=0-2': members(0, 3) }]],
    [
      'a part that leaves some out',
      [{ 'member;range=0-2': members(0, 3) }, { 'member;range=5-*': [nameOf(5)] }],
    ],
    [
      'a part that ends before it begins',
      [{ 'member;range=0-2': members(0, 3) }, { 'member;range=3-1': [] }],
    ],
    ['no further part', [{ 'member;range=0-2': members(0, 3) }, { cn: ['staff'] }]],
  ])('are not taken for whole at %s', async (_, answers) => {
    const reading = inGroup(10, ...answers);
    await expect(reading).rejects.toMatchObject({
      code: 'target_misbehaved',
      message: expect.stringContaining(`The members of the group ${GROUP} came in parts that do not match`),
    });
  });

  test.each<[string, Readonly<Record<string, readonly string[]>>, RegExp]>([
    [
      'a dynamic group',
      { objectClass: ['groupOfURLs'], memberURL: ['ldap:///dc=x??sub?(a=b)'] },
      /is dynamic/,
    ],
    [
      'a dynamic group of which some are listed',
      { member: members(0, 2), memberURL: ['ldap:///'] },
      /is dynamic/,
    ],
    ['a role of 389', { objectClass: ['nsRoleDefinition', 'nsFilteredRoleDefinition'] }, /is dynamic/],
    ['an unknown class', { objectClass: ['container'] }, /does not show its members/],
    ['no class', { cn: ['staff'] }, /does not show its members/],
    [
      'members of another kind in parts',
      { objectClass: ['groupOfUniqueNames'], 'uniqueMember;range=0-2': members(0, 3) },
      /came in parts that do not match/,
    ],
  ])('are not taken for whole with %s', async (_, attributes, message) => {
    await expect(inGroup(10, attributes)).rejects.toThrow(message);
  });

  test('are not taken for whole if the group is deleted while they are read', async () => {
    const reading = inGroup(10, { 'member;range=0-2': members(0, 3) }, null);
    await expect(reading).rejects.toMatchObject({ code: 'target_misbehaved' });
  });
});
