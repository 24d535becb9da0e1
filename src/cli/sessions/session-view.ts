import type { Session } from '../../domain/token.ts';
import { type Listing, listing } from '../../reports/result.ts';
import { dayText, timeText } from '../../reports/times.ts';

/** The JSON form of a session: times in ISO 8601 UTC. Its key is a secret, and not among it. */
function sessionToJson({ user, created, expires, fingerprint }: Session): object {
  return {
    user: user === null ? null : { id: user.id, username: user.username },
    created: created?.toISOString() ?? null,
    expires: expires.toISOString(),
    fingerprint,
  };
}

/** Sessions as a command's result. */
export function sessionListing(rows: AsyncIterable<Session>): Listing<Session> {
  return listing({
    rows,
    columns: [
      {
        name: 'user',
        cell: ({ user }) => user?.username ?? '(unknown)',
        csv: ({ user }) => user?.username ?? '',
        whole: true,
      },
      {
        name: 'created',
        cell: ({ created }) => (created === null ? '' : timeText(created)),
        short: ({ created }) => (created === null ? '' : dayText(created)),
        whole: true,
      },
      { name: 'expires', cell: ({ expires }) => timeText(expires), whole: true },
      { name: 'fingerprint', cell: ({ fingerprint }) => fingerprint, whole: true },
    ],
    json: sessionToJson,
    none: 'No sessions.',
  });
}
