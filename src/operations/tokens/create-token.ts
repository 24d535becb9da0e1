import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type LeaseOrder, markedDescription } from '../../domain/leases.ts';
import type { Token } from '../../domain/token.ts';
import type { Change } from '../journal/operation-run.ts';
import { recordAct } from '../journal/record-act.ts';
import type { CreatedToken, TokenRequest } from '../ports/target.ts';

export interface CreateTokenOptions extends Change {
  readonly request: TokenRequest;
  /** The end that tokenctl gives the token, if the target does not store it. */
  readonly lease?: LeaseOrder | undefined;
}

/**
 * Creates a personal access token for the caller, or for the user that the request names. Its value is only
 * returned: the audit log contains its id and fingerprint. With a lease, the intent contains the token's end,
 * and the token's description contains the lease id, by which an interrupted creation is found.
 * @throws TokenctlError `audit_unavailable` before anything was done; `outcome_unrecorded` if the token
 * exists but could not be recorded, with its id in the details and its value withheld.
 */
export async function createToken(options: CreateTokenOptions): Promise<CreatedToken> {
  const { target, lease } = options;
  const { description } = options.request;
  const request =
    lease === undefined
      ? options.request
      : { ...options.request, description: markedDescription(description, lease) };
  return await recordAct({
    ...options,
    operation: 'tokens.create',
    intent: {
      scope: request.scope,
      description: request.description,
      ...(request.user !== undefined && { user: request.user }),
      ...(request.lifetime !== undefined && { lifetime: request.lifetime }),
      ...(lease !== undefined && { lease }),
    },
    act: () => target.createToken(request),
    outcome: ({ token }) => ({
      token: token.id,
      fingerprint: token.fingerprint,
      expires: token.expires.toISOString(),
      ...(lease !== undefined && {
        created: token.created.toISOString(),
        until: leaseEnd(token, lease).toISOString(),
        owner: { userId: token.user?.id ?? null, name: token.user?.username ?? null },
      }),
    }),
    unrecorded: ({ token }) =>
      new TokenctlError(
        'outcome_unrecorded',
        `Token ${token.id} was created, but the audit log could not record it`,
        {
          hint: `Revoke token ${token.id}. Its value is withheld. Create another one when the audit log is writable.`,
          details: { tokenId: token.id },
        },
      ),
  });
}

/** When the lease of a token ends, by the controller's clock, which dates the token. */
export function leaseEnd(
  { created }: Pick<Token, 'created'>,
  { seconds }: Pick<LeaseOrder, 'seconds'>,
): Date {
  return new Date(created.getTime() + seconds * 1000);
}
