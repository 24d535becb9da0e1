import { type SignalAction, type SignalEvent, type SignalKind, signalActions } from './signal-event.ts';
import type { SubjectIdentifier } from './subject-identifier.ts';

/** The event members that can narrow a mapping in the configuration, with the specification's values. */
export const conditionMembers = {
  /** CAEP 1.0, section 2. */
  initiating_entity: ['admin', 'user', 'policy', 'system'],
  /** CAEP 1.0, section 3.3. */
  credential_type: [
    ...['password', 'pin', 'x509', 'fido2-platform', 'fido2-roaming', 'fido-u2f', 'verifiable-credential'],
    ...['phone-voice', 'phone-sms', 'app'],
  ],
  change_type: ['create', 'revoke', 'update', 'delete'],
  /** CAEP 1.0, section 3.4. */
  change_direction: ['increase', 'decrease'],
  /** CAEP 1.0, section 3.5. */
  current_status: ['compliant', 'not-compliant'],
  /** CAEP 1.0, section 3.8. */
  current_level: ['LOW', 'MEDIUM', 'HIGH'],
  principal: ['USER', 'DEVICE', 'SESSION', 'TENANT', 'ORG_UNIT', 'GROUP'],
} as const;

export type ConditionMember = keyof typeof conditionMembers;

/** Values by member. Each listed member must have one of its values. */
type EventConditions = Readonly<Partial<Record<ConditionMember, readonly string[] | undefined>>>;

export interface ConditionalAction {
  readonly action: SignalAction;
  readonly when: EventConditions;
}

/** The kinds whose events have a member; empty for all kinds. */
const KINDS_WITH: Readonly<Record<ConditionMember, readonly SignalKind[]>> = {
  initiating_entity: [],
  credential_type: ['credential-revoked', 'credential-changed', 'credential-compromise'],
  change_type: ['credential-revoked', 'credential-changed'],
  change_direction: ['assurance-level-change'],
  current_status: ['device-compliance-change'],
  current_level: ['risk-level-change'],
  principal: ['risk-level-change'],
};

/** Whether events of a kind can have a member. Calls and logout tokens, which are not events of a stream, have none. */
export function canHave(kind: SignalKind, member: ConditionMember): boolean {
  if (kind === 'global-token-revocation' || kind === 'backchannel-logout') return false;
  const kinds = KINDS_WITH[member];
  return kinds.length === 0 || kinds.includes(kind);
}

/** The deciding event of a token, and what follows from it. */
export interface DecidingEvent {
  readonly kind: SignalKind;
  readonly action: SignalAction;
  readonly subject: SubjectIdentifier;
  /** Why the mapping's conditions are not met, so that the action is `nothing`; null if they are met. */
  readonly unmet: string | null;
  /** The missing information, so that a person has to decide; null if nothing is missing. */
  readonly doubt: string | null;
}

/** The action for a token: the strongest one of its events; null if none is about a user. */
export function decidingEvent(
  events: readonly SignalEvent[],
  actions: Readonly<Record<SignalKind, SignalAction | ConditionalAction>>,
): DecidingEvent | null {
  const mapped = events.flatMap(({ kind, subject, members = {}, doubt }) => {
    if (kind === null || kind === 'verification' || kind === 'stream-updated' || subject === null) return [];
    const follows = outcome(actions[kind], members);
    return [{ kind, subject, ...follows, doubt: doubt ?? follows.doubt }];
  });
  const strength = (action: SignalAction) => signalActions.indexOf(action);
  return mapped.toSorted((one, other) => strength(other.action) - strength(one.action))[0] ?? null;
}

function outcome(
  mapping: SignalAction | ConditionalAction,
  members: Readonly<Record<string, string>>,
): Pick<DecidingEvent, 'action' | 'unmet' | 'doubt'> {
  if (typeof mapping === 'string') return { action: mapping, unmet: null, doubt: null };
  const { action, when } = mapping;
  const named = Object.entries(when).flatMap(([name, values]) => (values ? [[name, values] as const] : []));
  for (const [name, values] of named) {
    const value = members[name];
    if (value !== undefined && !values.includes(value))
      return { action: 'nothing', unmet: `Mapped to no action if ${name} is ${value}`, doubt: null };
  }
  const missing = named.find(([name]) => members[name] === undefined);
  const doubt = missing === undefined ? null : `The event does not contain ${missing[0]}`;
  return { action, unmet: null, doubt: action === 'nothing' ? null : doubt };
}
