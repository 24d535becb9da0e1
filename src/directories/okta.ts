import { z } from 'zod';
import type { DirectoryUser, DirectoryUsers } from '../domain/directory-users.ts';
import type { ProviderAnswer, ProviderClient } from './provider-client.ts';
import { type FindUsers, findByPath, followPages, given, readPage, readWholeList } from './provider-users.ts';

/** The statuses in which a user may sign in, now or soon: LOCKED_OUT and PASSWORD_EXPIRED are temporary. */
const ABLE = ['STAGED', 'PROVISIONED', 'ACTIVE', 'RECOVERY', 'LOCKED_OUT', 'PASSWORD_EXPIRED'] as const;
/** The statuses in which a user may not sign in any longer. */
const DISABLED = ['SUSPENDED', 'DEPROVISIONED'] as const;

const oktaUser = z.object({
  id: z.string().min(1),
  // It is unknown whether a status that Okta adds later allows a sign-in.
  status: z.enum([...ABLE, ...DISABLED]),
  statusChanged: z.string().nullish(),
  profile: z.object({
    login: z.string().min(1),
    email: z.string().nullish(),
    secondEmail: z.string().nullish(),
  }),
});
const listResponse = z.array(oktaUser);

const PAGE_SIZE = 200;
const USERS = 'api/v1/users';

/**
 * Without a filter, the list omits deactivated users (`DEPROVISIONED`), who are evidence: they are read as a
 * separate list. It comes first: a user who is reactivated meanwhile is then in both lists, which are
 * re-read. In the other order, the user would be in neither.
 */
const LISTS = [
  `${USERS}?limit=${PAGE_SIZE}&filter=${encodeURIComponent('status eq "DEPROVISIONED"')}`,
  `${USERS}?limit=${PAGE_SIZE}`,
];

/**
 * Reads the users of an Okta organization (`GET /api/v1/users`): suspended and deactivated ones are disabled.
 * Okta does not announce the number of users. Throws as {@link readWholeList}.
 */
export async function readOktaUsers(client: ProviderClient): Promise<DirectoryUsers> {
  return await readWholeList(client, async function* () {
    for (const list of LISTS) {
      yield* followPages(client, list, async (address) => {
        const { body, headers } = await readPage(client, address, { schema: listResponse });
        const users = body.map(userOf);
        // Okta sends at least a link to the page itself. Without the header, the first page would be the whole list.
        if (users.length >= PAGE_SIZE && !headers.has('link'))
          throw client.misbehaved('sent a full page without the Link header for the next page');
        return { users, next: nextLink(headers) };
      });
    }
  });
}

/** Queries one user by id or login, and users by address. */
export const findOktaUsers: FindUsers = async (client, { kind, value }) => {
  if (kind !== 'email') return await findByPath(client, [USERS, value], { schema: oktaUser, userOf });
  const query = new URLSearchParams({ filter: `profile.email eq ${JSON.stringify(value)}` });
  return (await readPage(client, `${USERS}?${query}`, { schema: listResponse })).body.map(userOf);
};

/** The URL of the next page in the Link headers (RFC 8288 §3): `<https://…?after=…>; rel="next"`. */
function nextLink(headers: ProviderAnswer['headers']): string | null {
  const links = headers.get('link') ?? '';
  for (const [, address = '', parameters = ''] of links.matchAll(/<([^>]*)>([^<]*)/g)) {
    if (/;\s*rel="?next"?/i.test(parameters)) return address;
  }
  return null;
}

function userOf({ id, status, statusChanged, profile }: z.output<typeof oktaUser>): DirectoryUser {
  const since = statusChanged ?? null;
  return {
    id,
    logins: [profile.login],
    emails: given([profile.email, profile.secondEmail]),
    disabled: DISABLED.some((each) => each === status) ? { attribute: 'status', value: status, since } : null,
  };
}
