import { z } from 'zod';
import type { DirectoryUser, DirectoryUsers } from '../domain/directory-users.ts';
import type { ProviderClient } from './provider-client.ts';
import { followPages, given, readAs, readWholeList } from './provider-users.ts';

/** Without the right to read it, `accountEnabled` is null or missing: then nothing shows who is disabled. */
const graphUser = z.object({
  id: z.string().min(1),
  userPrincipalName: z.string().min(1),
  mail: z.string().nullish(),
  otherMails: z.array(z.string()).nullish(),
  accountEnabled: z.boolean(),
});

const listResponse = z.object({
  '@odata.count': z.number().int().nonnegative().optional(),
  '@odata.nextLink': z.string().optional(),
  value: z.array(graphUser),
});

const QUERY = new URLSearchParams({
  $select: 'id,userPrincipalName,mail,otherMails,accountEnabled',
  $top: '999',
  $count: 'true',
});

/**
 * Reads the users of a Microsoft Entra tenant (`GET /users` of Microsoft Graph 1.0): a user whose `accountEnabled` is false is
 * disabled. The application needs the permission User.Read.All. The number of users is announced, since the header
 * ConsistencyLevel asks for it.
 *
 * @throws TokenctlError as {@link readWholeList}; `target_misbehaved` also if `accountEnabled` is missing.
 */
export async function readGraphUsers(client: ProviderClient): Promise<DirectoryUsers> {
  return await readWholeList(client, () =>
    followPages(client, `users?${QUERY}`, async (address) => {
      const { body } = await client.get(address, { ConsistencyLevel: 'eventual' });
      const list = readAs(listResponse, body, (what) => client.misbehaved(what));
      return {
        users: list.value.map(userOf),
        announced: list['@odata.count'],
        next: list['@odata.nextLink'] ?? null,
      };
    }),
  );
}

function userOf(user: z.output<typeof graphUser>): DirectoryUser {
  return {
    id: user.id,
    logins: [user.userPrincipalName],
    emails: given([user.mail, ...(user.otherMails ?? [])]),
    disabled: user.accountEnabled ? null : { attribute: 'accountEnabled', value: 'false', since: null },
  };
}
