import type { Runtime } from '../../app/runtime.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { Outcome } from '../../domain/plan.ts';
import { planRevocation } from '../../operations/revocation/plan-revocation.ts';
import { revokeTokens } from '../../operations/revocation/revoke-tokens.ts';
import type { Report } from '../../reports/result.ts';
import type { AccountFlags } from '../flags.ts';
import { writeNotice } from '../output/streams.ts';
import { amountsOf, isNothing } from '../revocation/plan-amounts.ts';
import { planResult } from '../revocation/plan-result.ts';
import { revocationResult } from '../revocation/revocation-result.ts';
import { inManagementWords } from './error.ts';
import { lineWriter } from './line-writer.ts';

type TokenKind = 'access_token' | 'refresh_token';

/** What `revoke_oauth2_tokens` is asked for with. */
export interface ManagementRevocation {
  readonly runtime: Runtime;
  readonly flags: AccountFlags & {
    readonly user?: string | undefined;
    /** Refresh tokens as well; it does not mean all users. */
    readonly all?: boolean | undefined;
    readonly revoke_refresh?: boolean | undefined;
  };
  /** Whether the report is printed instead of a line for each token. */
  readonly json: boolean;
}

/**
 * Revokes as the controller's `revoke_oauth2_tokens` does, without asking: every access token, of one user or
 * of all; with `all` refresh tokens first. A line on stdout for each, as it happens.
 *
 * @throws ManagementError where there is no such user, `unsupported` where refresh tokens are meant and the
 * target cannot revoke them, and whatever the operations throw
 */
export async function managementRevocation(request: ManagementRevocation): Promise<Report> {
  const { runtime, flags, json } = request;
  const description = await runtime.description();
  const plan = await planFor(request);
  if (isNothing(amountsOf(plan))) return quietly(planResult(plan, description, false));
  const change = await runtime.change(flags);
  await tellOfOtherComponents(runtime);
  const lines = lineWriter();
  const onOutcome = (outcome: Outcome, kind: TokenKind) => {
    const line = lineOf(outcome, kind);
    if (line !== undefined) lines.line(line);
  };
  const report = await revokeTokens({ ...change, plan, ...(json ? {} : { onOutcome }) });
  await lines.end();
  return quietly(revocationResult(report));
}

/** The management command of a platform knows its own tokens only, and so does this. */
async function tellOfOtherComponents(runtime: Runtime): Promise<void> {
  if ((await runtime.components()).length < 2) return;
  writeNotice(
    'These are the tokens of the gateway. `tokenctl tokens revoke` revokes those of the controller behind it, too.',
  );
}

async function planFor({ runtime, flags }: ManagementRevocation) {
  const { capabilities } = await runtime.description();
  const withRefreshTokens = flags.all === true || flags.revoke_refresh === true;
  if (withRefreshTokens && !capabilities.refreshTokens) throw refreshTokensOutOfReach();
  return await inManagementWords(
    planRevocation({
      target: await runtime.target(),
      selector: flags.user === undefined ? { all: true } : { users: [flags.user] },
      clock: runtime.clock,
      includeOwn: true,
      accessOnly: !withRefreshTokens,
      capabilities,
    }),
    { code: 'not_found', message: 'A user with that username does not exist.' },
  );
}

function refreshTokensOutOfReach(): TokenctlError {
  return new TokenctlError('unsupported', 'Refresh tokens cannot be revoked over the REST API', {
    hint: "Use a context of the controller's database, or leave --all out: then they stay alive.",
  });
}

/**
 * As the management command prints it, with a fingerprint (over REST the id) where that prints the token.
 * Revoking a refresh token deletes the access token beside it, which gets no line of its own.
 */
function lineOf(outcome: Outcome, kind: TokenKind): string | undefined {
  if (outcome.result !== 'revoked') return undefined;
  if (outcome.refreshToken !== undefined) return `revoked RefreshToken ${outcome.refreshToken.fingerprint}`;
  const model = kind === 'access_token' ? 'OAuth2AccessToken' : 'RefreshToken';
  return `revoked ${model} ${outcome.fingerprint ?? outcome.tokenId}`;
}

/** All that people read was printed token by token. */
function quietly(report: Report): Report {
  return { ...report, text: () => '' };
}
