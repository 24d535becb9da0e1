import { z } from 'zod';
import type { DirectoryUser, DirectoryUsers } from '../domain/directory-users.ts';
import type { ProviderClient } from './provider-client.ts';
import { type FindUsers, findByPath, followPages, given, readPage, readWholeList } from './provider-users.ts';

const googleUser = z.object({
  id: z.string().min(1),
  primaryEmail: z.string().min(1),
  aliases: z.array(z.string()).nullish(),
  suspended: z.boolean(),
  archived: z.boolean().nullish(),
  suspensionReason: z.string().nullish(),
});
const listResponse = z.object({
  users: z.array(googleUser).default([]),
  nextPageToken: z.string().nullish(),
});

const USERS = 'admin/directory/v1/users';
const FIELDS = 'id,primaryEmail,aliases,suspended,archived,suspensionReason';
const QUERY = {
  maxResults: '500',
  orderBy: 'email',
  projection: 'basic',
  fields: `nextPageToken,users(${FIELDS})`,
};

/**
 * Reads the users of a Google Workspace account (`users.list` of the Admin SDK; `my_customer` is the
 * administrator's): suspended and archived ones are disabled. Deleted users are not in the list. Google does
 * not announce the number of users. Throws as {@link readWholeList}.
 */
export async function readGoogleUsers(
  client: ProviderClient,
  { customer = 'my_customer' }: { customer?: string | undefined } = {},
): Promise<DirectoryUsers> {
  return await readWholeList(client, () =>
    followPages(client, '', async (pageToken) => {
      const query = new URLSearchParams({ ...QUERY, customer, ...(pageToken !== '' && { pageToken }) });
      const { body } = await readPage(client, `${USERS}?${query}`, { schema: listResponse });
      return { users: body.users.map(userOf), next: body.nextPageToken || null };
    }),
  );
}

/** Queries one user (`users.get`) by id, primary address or alias. */
export const findGoogleUsers: FindUsers = (client, { value }) =>
  findByPath(client, [USERS, value], { schema: googleUser, userOf, query: `?fields=${FIELDS}` });

function userOf(user: z.output<typeof googleUser>): DirectoryUser {
  const reason = user.suspensionReason;
  const suspended = { attribute: 'suspended', value: reason ? `true (${reason})` : 'true', since: null };
  return {
    id: user.id,
    logins: [user.primaryEmail],
    emails: given([user.primaryEmail, ...(user.aliases ?? [])]),
    disabled: user.suspended
      ? suspended
      : user.archived === true
        ? { attribute: 'archived', value: 'true', since: null }
        : null,
  };
}
