import { z } from 'zod';
import type { DirectoryUser, DirectoryUsers } from '../domain/directory-users.ts';
import type { ProviderClient } from './provider-client.ts';
import { type FindUsers, findByPath, followPages, given, readPage, readWholeList } from './provider-users.ts';

/** Without the right to read it, `accountEnabled` is null or missing. It is then unknown who is disabled. */
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

const SELECT = { $select: 'id,userPrincipalName,mail,otherMails,accountEnabled' };
const QUERY = new URLSearchParams({ ...SELECT, $top: '999', $count: 'true' });
const HEADERS = { ConsistencyLevel: 'eventual' };

/**
 * Reads the users of a Microsoft Entra tenant (`GET /users` of Microsoft Graph 1.0): a user whose
 * `accountEnabled` is false is disabled. The application needs the permission User.Read.All. The number of
 * users is announced, because the header ConsistencyLevel requests it.
 * @throws TokenctlError as {@link readWholeList}; `target_misbehaved` also if `accountEnabled` is missing.
 */
export async function readGraphUsers(client: ProviderClient): Promise<DirectoryUsers> {
  return await readWholeList(client, () =>
    followPages(client, `users?${QUERY}`, async (address) => {
      const { body } = await readPage(client, address, { schema: listResponse, headers: HEADERS });
      return {
        users: body.value.map(userOf),
        announced: body['@odata.count'],
        next: body['@odata.nextLink'] ?? null,
      };
    }),
  );
}

/** Queries one user by id, and users by user principal name or address. */
export const findGraphUsers: FindUsers = async (client, { kind, value }) => {
  const query = `?${new URLSearchParams(SELECT)}`;
  if (kind === 'id') return await findByPath(client, ['users', value], { schema: graphUser, userOf, query });
  // OData 4.01 §5.1.1.14.1: a quote within a text is doubled.
  const text = `'${value.replaceAll("'", "''")}'`;
  const $filter =
    kind === 'login'
      ? `userPrincipalName eq ${text}`
      : `mail eq ${text} or otherMails/any(mail:mail eq ${text})`;
  const filtered = new URLSearchParams({ ...SELECT, $count: 'true', $filter });
  const { body } = await readPage(client, `users?${filtered}`, { schema: listResponse, headers: HEADERS });
  return body.value.map(userOf);
};

function userOf(user: z.output<typeof graphUser>): DirectoryUser {
  return {
    id: user.id,
    logins: [user.userPrincipalName],
    emails: given([user.mail, ...(user.otherMails ?? [])]),
    disabled: user.accountEnabled ? null : { attribute: 'accountEnabled', value: 'false', since: null },
  };
}
