import type { Lock } from '../../domain/incident/incident.ts';
import type { LockdownPlan } from '../../operations/incident/plan-lockdown.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { countText } from '../../reports/counts.ts';
import { printable } from '../../reports/printable.ts';
import { timeText } from '../../reports/times.ts';
import { amountsOf } from '../revocation/plan-amounts.ts';
import { byHandLines } from './steps-text.ts';

/** Names of users that are shown one by one. */
const SHOWN = 8;

/** A lockdown's plan for people: what would be done, in order, and what stays open. */
export function lockdownPlanText(
  plan: LockdownPlan,
  { address, context, identity }: TargetDescription,
): string {
  const { incident, continues, selection, until } = plan;
  const lines = [
    `Would lock down ${printable.value(selection)}, as ${incident}${continues ? ', which is open already' : ''}.`,
    `At ${address} (context ${context}, as ${printable.value(identity.username)}).`,
    until === null ? 'Until it is lifted.' : `Until ${timeText(until)}.`,
    '',
    'In this order:',
    ...stepsOf(plan).map((text, index) => `  ${index + 1}. ${text}`),
    ...ownLines(plan),
    ...byHandLines(plan.byHand),
  ];
  return `${lines.join('\n')}\n`;
}

function stepsOf(plan: LockdownPlan): string[] {
  const { doors, users, lifetimes } = plan;
  return [
    ...doors.map(settingText),
    ...(users.length > 0 ? [`Deactivate ${countText(users.length, 'user')}: ${namesText(users)}.`] : []),
    'Write down what there is: tokens, settings, activity of the last hour.',
    ...clearing(plan),
    ...lifetimes.map(settingText),
    'Find out whether the doors are shut.',
  ];
}

function clearing({ revocation, counted }: LockdownPlan): string[] {
  if (revocation === null) return ['Nobody is meant now: there is nothing to revoke.'];
  const { reach } = revocation;
  if (!counted) {
    const kinds = [
      ...(reach.refreshTokens ? ['refresh tokens'] : []),
      'access tokens',
      ...(reach.sessions ? ['sessions'] : []),
    ];
    return [`End all ${kinds.join(', ')} of them, which are counted when their turn comes.`];
  }
  const { accessTokens, refreshTokens, sessions } = amountsOf(revocation);
  const again = ', and what is made until then';
  return [
    ...(reach.refreshTokens ? [`Revoke ${countText(refreshTokens, 'refresh token')}${again}.`] : []),
    `Revoke ${countText(accessTokens, 'access token')}${again}.`,
    ...(reach.sessions ? [`End ${countText(sessions, 'session')}.`] : []),
  ];
}

function settingText({ name, before, locked }: Lock): string {
  if (before === locked) return `Keep ${name} at ${valueText(locked)}.`;
  return `Set ${name} from ${valueText(before)} to ${valueText(locked)}.`;
}

/** A value as people say it. */
export function valueText(value: boolean | number): string {
  return typeof value === 'number' ? String(value) : value ? 'on' : 'off';
}

function namesText(users: readonly Lock[]): string {
  const names = users.slice(0, SHOWN).map(({ name }) => printable.value(name));
  const more = users.length - names.length;
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function ownLines({ revocation, usersKept }: LockdownPlan): string[] {
  const lines = [
    ...(revocation?.kept ?? []).map(
      ({ tokenId }) => `Kept: token ${tokenId}, which may be the credential that this tool is using.`,
    ),
    ...(usersKept.length > 0 ? [`Kept active: ${usersKept.map(printable.value).join(', ')}.`] : []),
  ];
  return lines.length === 0 ? [] : ['', ...lines];
}
