import { someOf } from '@tokenctl/common/text.ts';
import type { Lock, LockdownScope } from '../../domain/incident/incident.ts';
import { amountsOf, type RevocationPlan } from '../../domain/plan.ts';
import { cautionOf } from '../../operations/access/check-paths.ts';
import { historyText } from '../../operations/incident/name-history.ts';
import { valueText } from '../../operations/incident/plan-lift.ts';
import type { LockdownPlan, NamedToken } from '../../operations/incident/plan-lockdown.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { renamedText } from '../../operations/scope/bound-names.ts';
import {
  type Document,
  emphasized,
  folded,
  type Line,
  lines,
  list,
  type Part,
  steps,
  warning,
  would,
} from '../../reports/document.ts';
import { countText, numberText } from '../../reports/tables/text.ts';
import { placeLine } from '../change/plan-text.ts';
import { expiredText } from '../revocation/revocation-plan.ts';
import { localSteps, noRolesText } from './local-access.ts';

/** The kind of a scope's names. */
export function kindOf({ kind }: LockdownScope): 'user' | 'application' {
  return kind === 'applications' ? 'application' : 'user';
}

/** The maximum number of user names to list. */
const SHOWN = 8;

/**
 * What a lockdown would do, in order.
 * @param opens Whether a new incident will have the planned id; a dry run opens none.
 */
export function lockdownPlanDocument(
  plan: LockdownPlan,
  description: TargetDescription,
  { ends, opens }: { ends: Line; opens: boolean },
): Document {
  const { continues, selection, usersKept, usersGone } = plan;
  const incident = continues || opens ? plan.incident : 'a new incident';
  return [
    lines(
      would`lock down ${selection}, as ${incident}${continues ? ', an open incident' : ''}.`,
      historyText(plan.names),
      placeLine(description),
      ends,
    ),
    stepsPart(plan, description),
    tokensPart(plan),
    lines(
      noRolesText(plan.measures, plan.local),
      plan.revocation?.kept.map(
        ({ tokenId }) => warning`Kept: token ${tokenId}, which may be the credential of this context.`,
      ),
      usersKept.length > 0 && warning`Kept active: ${usersKept.join(', ')}.`,
      usersGone.length > 0 && `Not found: ${usersGone.join(', ')}.`,
      renamedText(kindOf(plan.scope), plan.renamed),
    ),
  ];
}

/** The steps. A lockdown that only deactivates users and revokes tokens has one line. */
function stepsPart(plan: LockdownPlan, description: TargetDescription): Part {
  const { before, after } = localSteps(plan.local);
  const isUsual = [plan.switches, plan.lifetimes, before, after].every(({ length }) => length === 0);
  return folded(isUsual && usualText(plan), emphasized`Steps:`, steps(stepsOf(plan, description)));
}

/** What a lockdown ends, with the known numbers. */
function usualText({ users, revocation, counted }: LockdownPlan): string {
  const deactivated = users.map(({ name }) => name);
  const ends = revocation === null ? [] : counted ? amountTexts(revocation) : ['all tokens'];
  const words = [
    ...(deactivated.length === 0 ? [] : [`deactivates ${someOf(deactivated, SHOWN)}`]),
    `ends ${ends.join(', ')}`,
  ];
  return words.join(', ').replace(/^./, (first) => first.toUpperCase());
}

function amountTexts(revocation: RevocationPlan): readonly string[] {
  const { accessTokens, refreshTokens, authorizationCodes, sessions } = amountsOf(revocation);
  const all = [
    [accessTokens, 'access token'],
    [refreshTokens, 'refresh token'],
    [authorizationCodes, 'authorization code'],
    [sessions, 'session'],
  ] as const;
  return all.flatMap(([count, what]) =>
    count > 0 || what === 'access token' ? [countText(count, what)] : [],
  );
}

/** Names the first tokens: they may include tokens in legitimate use. */
function tokensPart({ tokens, revocation }: LockdownPlan): Part | null {
  const all = revocation?.tokenIds.length ?? 0;
  if (tokens === null || all === 0) return null;
  const more = all - tokens.length;
  return lines(
    'Access tokens to revoke permanently:',
    list(...tokens.map(tokenText), more > 0 && `and ${numberText(more)} more.`),
  );
}

function tokenText({ id, user, description, scope, application }: NamedToken): string {
  const what = description === '' ? 'without a description' : `"${description}"`;
  const kind = application === null ? '' : `, of the application ${application}`;
  return `token ${id} of ${user ?? 'nobody'}: ${what}, scope ${scope}${kind}`;
}

function stepsOf(plan: LockdownPlan, description: TargetDescription): string[] {
  const { switches, users, lifetimes } = plan;
  return [
    ...switches.map((lock) => settingText(lock) + cautionOf(lock.name, description)),
    ...(users.length > 0
      ? [
          `Deactivate ${countText(users.length, 'user')}: ${someOf(
            users.map(({ name }) => name),
            SHOWN,
          )}.`,
        ]
      : []),
    ...localSteps(plan.local).before,
    'Save the current state to a file: users, tokens, settings and the activity of the last hour.',
    ...revocationSteps(plan),
    ...localSteps(plan.local).after,
    ...lifetimes.map(settingText),
    'Check that every access path is closed.',
  ];
}

function revocationSteps({ revocation, counted }: LockdownPlan): string[] {
  if (revocation === null) return ['No users currently match. Nothing to revoke.'];
  const { reach } = revocation;
  if (!counted) {
    const kinds = [
      ...(reach.refreshTokens ? ['refresh tokens'] : []),
      'access tokens',
      ...(reach.authorizationCodes ? ['authorization codes'] : []),
      ...(reach.sessions ? ['sessions'] : []),
    ];
    return [`Revoke or end all ${kinds.join(', ')}. They are counted when this step runs.`];
  }
  const { accessTokens, refreshTokens, authorizationCodes, sessions } = amountsOf(revocation);
  const again = ', and any that are created before this step runs';
  const expired = expiredText(revocation.refreshTokensExpired);
  return [
    ...(reach.authorizationCodes
      ? [`Delete ${countText(authorizationCodes, 'authorization code')}${again}.`]
      : []),
    ...(reach.refreshTokens
      ? [`Revoke ${countText(refreshTokens, 'refresh token')}${expired}${again}.`]
      : []),
    `Revoke ${countText(accessTokens, 'access token')}${again}.`,
    ...(reach.sessions ? [`End ${countText(sessions, 'session')}.`] : []),
  ];
}

function settingText({ name, before, locked }: Lock): string {
  if (before === locked) return `Keep ${name} at ${valueText(locked)}.`;
  return `Set ${name} from ${valueText(before)} to ${valueText(locked)}.`;
}
