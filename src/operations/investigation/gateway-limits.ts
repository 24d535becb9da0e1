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

/** What a gateway's log cannot show. */
export const GATEWAY_MAY_HAVE_READ: readonly string[] = [
  'A gateway does not record reads, so it is not known which users, settings, applications and authenticators were read. It records the use of a token with scope write as a change to the token. `tokens trace` counts these uses.',
];

/**
 * The limits of an investigation of a gateway. What it does not record was tested on gateways of three
 * layouts: each action over REST, and the rows it left [seen].
 * @param deleted Names of chain members that are no longer listed.
 */
export function gatewayLimits(found: ReadEvidence, deleted: readonly string[]): EvidenceLimit[] {
  const { subject, names, chain, bounds, missingEntries } = found;
  const all = [
    ...prunedLimits(found),
    ...missingEntryLimits(missingEntries),
    limit(
      'not_recorded',
      'The activity stream of a gateway does not record: logins, role assignments and removals, the auditor flag, authenticators and their maps, new client secrets, sessions, reads. Role assignments, role definitions, authenticators, maps and applications show who created them or changed them last. Earlier changes and removals are not known.',
    ),
    ...actorLimits(found, deleted),
    ...renamed(subject, { names, chain }),
    limit('clock', clockText(found.description) ?? "Times are from the gateway's clock."),
    ...tokenLimits(found),
    ...bounds.map((text) => limit('bound_reached', `${text}: the rest was not read.`)),
    ...listLimits(found),
    componentsLimit(found),
  ];
  return all.filter((each) => each !== false);
}

function prunedLimits({ extent: { oldest }, window }: ReadEvidence): Limits {
  const isCut = oldest === null || oldest > window.since;
  const text = `The activity stream has no entries before ${oldest?.toISOString() ?? 'now'}, so earlier actions are not known.`;
  return [isCut && limit('stream_pruned', text)];
}

function actorLimits({ withoutActor, description }: ReadEvidence, deleted: readonly string[]): Limits {
  const { visibility } = description;
  const [was, its, it] = deleted.length === 1 ? ['was', 'its', 'it'] : ['were', 'their', 'they'];
  return [
    namelessLimit({
      ...{ count: withoutActor, lack: 'user' },
      why: 'Token endpoints, management commands and the gateway itself create them as _system. Entries of users who have since been deleted no longer have an actor. Direct SQL creates no entries.',
    }),
    visibility.kind === 'all' &&
      deleted.length > 0 &&
      limit(
        'no_actor',
        `${deleted.join(', ')} ${was} deleted, so the gateway removed the actor from ${its} entries. Only objects that ${it} created, or changed first, still show the actor. Other changes are among the entries without an actor.`,
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
        `${unattributed} role assignments in this period have no creator because the user has since been deleted.`,
      ),
    unreadKinds.length > 0 &&
      limit(
        'not_listed',
        `Not checked: ${unreadKinds.map(nounsOf).join(', ')}, where the activity stream does not record them. This context cannot list them.`,
      ),
    unreadSinceLimit(unreadSince),
    users === null &&
      limit('not_listed', 'Not checked: users who were created without an entry in the activity stream.'),
    !sessionsListed &&
      limit(
        'not_listed',
        'Not checked: sessions, refresh tokens and authorization codes. This context cannot list them.',
      ),
    sessionsListed &&
      problem !== null &&
      limit('not_listed', `Not checked: sessions that are only in the gateway's cache. ${problem}.`),
    sessionsListed &&
      isUnowned &&
      limit('not_listed', 'Not checked: sessions without a recorded owner, which may belong to these users.'),
    items.some(({ object }) => object.kind === 'setting' && object.name === null) &&
      limit('links_lost', 'The activity stream does not say which setting some entries are about.'),
  ];
}

/** What an intruder does at another component through the gateway is recorded at that component. */
function componentsLimit({ description: { components, context } }: ReadEvidence): EvidenceLimit {
  const isListed = components?.includes('controller') === true;
  const where = isListed
    ? ` Investigate it with --context ${context.replace(/\/gateway$/, '')}/controller.`
    : '';
  const text = `Not included: actions on the controller behind the gateway (templates, jobs, credentials), which has its own activity stream.${where}`;
  return limit('not_listed', text);
}
