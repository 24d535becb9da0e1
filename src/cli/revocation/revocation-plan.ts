import type { AccessPath } from '../../domain/access.ts';
import {
  type Amounts,
  amountsOf,
  isNothing,
  type RevocationPlan,
  type SavedPlanReference,
} from '../../domain/plan.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { accessParts } from '../../reports/access-lines.ts';
import { type Document, facts, type Line, lines, type Part, warning, would } from '../../reports/document.ts';
import { countText, numberText, timeText } from '../../reports/tables/text.ts';
import type { Question } from '../change/change.ts';
import { idsText, placeText, tally } from '../change/plan-text.ts';

export function planDocument(plan: RevocationPlan, description: TargetDescription): Document {
  const amounts = amountsOf(plan);
  const { selection, notSeen, byUser, byApplication, byScope } = plan;
  const unseen = plan.sessions?.unseen;
  const nothing = isNothing(amounts);
  return [
    lines(
      nothing
        ? `Nothing${notSeen === null && unseen === undefined ? '' : ' visible'} to revoke for ${selection}.`
        : would`${questionFor(amounts).act}: ${selection}.`,
      placeText(description),
      savedLines(plan),
    ),
    amountFacts(plan),
    tally('user', byUser),
    tally('application', byApplication),
    tally('scope', byScope),
    lines(keptLines(plan)),
    lines(notSeen !== null && warning`Not the whole selection: ${notSeen}.`),
    ...(nothing ? accessParts([...(unseen === undefined ? [] : [unseen]), ...foundLeft(plan)]) : []),
  ];
}

/** What a linked database lists although there is no access token to revoke. */
function foundLeft({ accessPaths }: RevocationPlan): readonly AccessPath[] {
  return accessPaths.filter(({ covered, count = 0 }) => !covered && count > 0);
}

/** The applied saved plan, and which of its tokens are gone. */
function savedLines({ saved, notSeen }: RevocationPlan): string[] {
  if (saved === undefined) return [];
  const { made, digest } = saved;
  const maker = made.by['sudo_user'] ?? made.by['user'] ?? 'an unknown user';
  return [
    `Applies the plan created at ${timeText(new Date(made.at))} by ${maker}, digest ${digest.slice(0, 12)}.`,
    ...goneLines(saved, notSeen),
  ];
}

/** The tokens of a saved plan that the target no longer lists. */
export function goneLines({ gone }: SavedPlanReference, notSeen: string | null): string[] {
  const kinds: readonly (readonly [string, readonly number[]])[] = [
    ['access token', gone.accessTokens],
    ['refresh token', gone.refreshTokens],
    ['authorization code', gone.authorizationCodes],
  ];
  const what = notSeen === null ? 'Already gone' : 'Already gone, or not visible to this account';
  return kinds
    .filter(([, ids]) => ids.length > 0)
    .map(([name, ids]) => `${what}: ${countText(ids.length, name)} in the plan (${idsText(ids)}).`);
}

/** The number of each kind, if the plan covers more than access tokens. */
function amountFacts(plan: RevocationPlan): Part | null {
  const { reach, sessions, refreshTokensBeside: beside, refreshTokenIds } = plan;
  if (!reach.refreshTokens && !reach.authorizationCodes && sessions === null) return null;
  const { accessTokens, refreshTokens, authorizationCodes } = amountsOf(plan);
  const orphaned =
    refreshTokenIds.length === 0
      ? ''
      : `: ${numberText(beside)} of these access tokens, ${numberText(refreshTokenIds.length)} orphaned`;
  return facts([
    ['Access tokens', numberText(accessTokens)],
    [
      'Refresh tokens',
      reach.refreshTokens && numberText(refreshTokens) + expiredText(plan.refreshTokensExpired) + orphaned,
    ],
    ['Authorization codes', authorizationCodes > 0 && numberText(authorizationCodes)],
    ['Sessions', sessions !== null && numberText(sessions.count)],
  ]);
}

/** How many of some refresh tokens are expired, in parentheses; empty for none, and if unknown. */
export function expiredText(expired: number | null | undefined): string {
  return expired ? ` (${numberText(expired)} expired)` : '';
}

function keptLines({ kept, absentIds, ownTokenIds, saved }: RevocationPlan): Line[] {
  return [
    ...kept.map(({ tokenId, reason }) => warning`Skipped: token ${tokenId}, which ${reason}.`),
    ...(ownTokenIds.length === 0
      ? []
      : [
          `Last: ${countText(ownTokenIds.length, 'token')} (${idsText(ownTokenIds)}), possibly the credential of this context. The context then needs a new one.`,
        ]),
    ...(absentIds.length === 0 || saved !== undefined
      ? []
      : [`Not found: ${countText(absentIds.length, 'id')} (${idsText(absentIds)}).`]),
  ];
}

/** The answer to type, the number of access tokens or else of other items, and the action as a phrase. */
export function questionFor(amounts: Amounts): Question {
  const { accessTokens, refreshTokens, authorizationCodes, sessions } = amounts;
  const first = [accessTokens, refreshTokens, authorizationCodes, sessions].find((amount) => amount > 0) ?? 0;
  return { act: actText(amounts), type: String(first), tokens: accessTokens };
}

function actText({ accessTokens, refreshTokens, authorizationCodes, sessions }: Amounts): string {
  const tokens = refreshTokens > 0 ? 'access token' : 'token';
  const revoked = [
    ...(accessTokens > 0 ? [countText(accessTokens, tokens)] : []),
    ...(refreshTokens > 0 ? [countText(refreshTokens, 'refresh token')] : []),
  ].join(' and ');
  const acts = [
    ...(revoked === '' ? [] : [`revoke ${revoked}`]),
    ...(authorizationCodes > 0 ? [`delete ${countText(authorizationCodes, 'authorization code')}`] : []),
    ...(sessions > 0 ? [`end ${countText(sessions, 'session')}`] : []),
  ];
  return [acts.slice(0, -1).join(', '), acts.at(-1)].filter(Boolean).join(', and ');
}
