import { clockText } from '../../domain/clock-difference.ts';
import type { EvidenceLimit } from '../../domain/investigation/investigation.ts';
import { nounsOf } from '../../domain/investigation/kinds.ts';
import {
  type Limits,
  limit,
  missingEntryLimits,
  namelessLimit,
  notSeen,
  type ReadEvidence,
  renamed,
  tokenLimits,
  unreadSinceLimit,
} from './limits.ts';

/** What the log of a gateway cannot show. */
export const GATEWAY_MAY_HAVE_READ: readonly string[] = [
  'A gateway records no reads: what was read of users, settings, applications and authenticators is not known. It records that a token of the scope write was used, as a change of the token: the command `tokens trace` counts these uses.',
];

/**
 * The limits of an investigation of a gateway. What it does not record was tried on gateways of three
 * layouts: each act over REST, and the rows that it left [seen].
 * @param deleted The names of members of the chain who are not listed any more.
 */
export function gatewayLimits(found: ReadEvidence, deleted: readonly string[]): EvidenceLimit[] {
  const { subject, names, chain, bounds, missingEntries } = found;
  const all = [
    ...prunedLimits(found),
    ...missingEntryLimits(missingEntries),
    limit(
      'not_recorded',
      'The activity stream of a gateway does not record: logins, role assignments and removals, the auditor flag, authenticators and their maps, new client secrets, sessions, reads. Role assignments, role definitions, authenticators, maps and applications say who made them or changed them last: an earlier change, or a removal, is not known.',
    ),
    ...actorLimits(found, deleted),
    ...renamed(subject, { names, chain }),
    limit('clock', clockText(found.description) ?? 'Times are those of the gateway.'),
    ...tokenLimits(found),
    ...bounds.map((text) => limit('bound_reached', `${text}: the rest was not read.`)),
    ...listLimits(found),
    componentsLimit(found),
  ];
  return all.filter((each) => each !== false);
}

function prunedLimits({ extent: { oldest }, window }: ReadEvidence): Limits {
  const isCut = oldest === null || oldest > window.since;
  const text = `The activity stream has no entries before ${oldest?.toISOString() ?? 'now'}: what was done earlier is not known.`;
  return [isCut && limit('stream_pruned', text)];
}

function actorLimits({ withoutActor, description }: ReadEvidence, deleted: readonly string[]): Limits {
  const { visibility } = description;
  const [was, its, it] = deleted.length === 1 ? ['was', 'its', 'it'] : ['were', 'their', 'they'];
  return [
    namelessLimit({
      ...{ count: withoutActor, lack: 'user' },
      why: 'Token endpoints, management commands and the gateway itself write them as _system. Entries of users who were deleted since have lost their actor. Direct SQL writes none.',
    }),
    visibility.kind === 'all' &&
      deleted.length > 0 &&
      limit(
        'no_actor',
        `${deleted.join(', ')} ${was} deleted: the gateway then removed the actor from ${its} entries. Only what ${it} made, or changed as the first one, still says so. Other changes are among the entries without an actor.`,
      ),
    notSeen(description),
  ];
}

function listLimits({
  roles,
  unreadKinds,
  unreadSince,
  users,
  sessionsListed,
  items,
  description,
}: ReadEvidence): Limits {
  const unattributed = typeof roles === 'object' ? roles.unattributed : 0;
  const isUnowned = description.capabilities.sessionsUnowned !== undefined;
  const { problem = null } = description.sessionCache ?? {};
  return [
    typeof roles !== 'object' &&
      limit('not_listed', 'Not checked: role assignments and definitions. This context cannot list them.'),
    unattributed > 0 &&
      limit(
        'no_actor',
        `${unattributed} role assignments of the period do not name who made them: the user was deleted since.`,
      ),
    unreadKinds.length > 0 &&
      limit(
        'not_listed',
        `Not checked: ${unreadKinds.map(nounsOf).join(', ')}, as far as the activity stream does not record them. This context cannot list them.`,
      ),
    unreadSinceLimit(unreadSince),
    users === null &&
      limit('not_listed', 'Not checked: users who were made without an entry in the activity stream.'),
    !sessionsListed &&
      limit(
        'not_listed',
        'Not checked: sessions, refresh tokens and authorization codes. This context cannot list them.',
      ),
    sessionsListed &&
      problem !== null &&
      limit('not_listed', `Not checked: sessions that only the cache of the gateway has. ${problem}.`),
    sessionsListed &&
      isUnowned &&
      limit('not_listed', 'Not checked: sessions without a recorded owner, which may be of these users.'),
    items.some(({ object }) => object.kind === 'setting' && object.name === null) &&
      limit('links_lost', 'The activity stream does not say which setting some entries are about.'),
  ];
}

/** What an intruder does through the gateway at another component is recorded there. */
function componentsLimit({ description: { components, context } }: ReadEvidence): EvidenceLimit {
  const isListed = components?.includes('controller') === true;
  const where = isListed
    ? ` Investigate it with --context ${context.replace(/\/gateway$/, '')}/controller.`
    : '';
  const text = `Not included: what was done on the controller behind the gateway (templates, jobs, credentials), which keeps an activity stream of its own.${where}`;
  return limit('not_listed', text);
}
