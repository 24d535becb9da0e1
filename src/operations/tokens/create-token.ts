import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Change } from '../journal/operation-run.ts';
import { recordAct } from '../journal/record-act.ts';
import type { CreatedToken, TokenRequest } from '../ports/target.ts';

export interface CreateTokenOptions extends Change {
  readonly request: TokenRequest;
}

/**
 * Creates a personal access token: for the caller, or for the user that the request names. Its value is returned and is nowhere else: the audit
 * log holds its id and fingerprint.
 *
 * @throws TokenctlError `audit_unavailable` before anything was done; `outcome_unrecorded` where the
 * token exists and the log could not say so, its id in the details and its value withheld; and whatever
 * the target throws.
 */
export async function createToken(options: CreateTokenOptions): Promise<CreatedToken> {
  const { request, target } = options;
  return await recordAct({
    ...options,
    operation: 'tokens.create',
    intent: {
      scope: request.scope,
      description: request.description,
      ...(request.user !== undefined && { user: request.user }),
      ...(request.lifetime !== undefined && { lifetime: request.lifetime }),
    },
    act: () => target.createToken(request),
    outcome: ({ token }) => ({
      token: token.id,
      fingerprint: token.fingerprint,
      expires: token.expires.toISOString(),
    }),
    unrecorded: ({ token }) =>
      new TokenctlError(
        'outcome_unrecorded',
        `Token ${token.id} was created, but the audit log could not record it`,
        {
          hint: `Revoke token ${token.id}; its value is withheld. Create another one once the audit log can be written.`,
          details: { tokenId: token.id },
        },
      ),
  });
}
