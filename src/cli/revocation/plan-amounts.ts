import type { RevocationPlan } from '../../domain/plan.ts';
import { countText } from '../../reports/counts.ts';
import type { Question } from '../consent.ts';

/** How much of what a revocation is about. */
export interface Amounts {
  readonly accessTokens: number;
  readonly refreshTokens: number;
  readonly sessions: number;
}

/** How much a plan means: its refresh tokens are those beside access tokens and those without one. */
export function amountsOf(plan: RevocationPlan): Amounts {
  return {
    accessTokens: plan.tokenIds.length,
    refreshTokens: plan.refreshTokensBeside + plan.refreshTokenIds.length,
    sessions: plan.sessions?.count ?? 0,
  };
}

/** Whether there is nothing to do. */
export function isNothing({ accessTokens, refreshTokens, sessions }: Amounts): boolean {
  return accessTokens === 0 && refreshTokens === 0 && sessions === 0;
}

/**
 * What has to be typed to agree: the number of access tokens; without any the number of what else there is.
 * And what that does, as a phrase.
 */
export function confirmation(amounts: Amounts): Omit<Question, 'plan'> {
  const { accessTokens, refreshTokens, sessions } = amounts;
  const first = [accessTokens, refreshTokens, sessions].find((amount) => amount > 0) ?? 0;
  return { act: actText(amounts), type: String(first), tokens: accessTokens };
}

function actText({ accessTokens, refreshTokens, sessions }: Amounts): string {
  const tokens = refreshTokens > 0 ? 'access token' : 'token';
  const revoked = [
    ...(accessTokens > 0 ? [countText(accessTokens, tokens)] : []),
    ...(refreshTokens > 0 ? [countText(refreshTokens, 'refresh token')] : []),
  ].join(' and ');
  const ended = sessions > 0 ? [`end ${countText(sessions, 'session')}`] : [];
  return [...(revoked === '' ? [] : [`revoke ${revoked}`]), ...ended].join(', and ');
}
