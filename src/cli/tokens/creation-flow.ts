import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { intoSecretFile, requireNewFile } from '../../app/secret-file.ts';
import type { Token } from '../../domain/token.ts';
import { requireRestCreates } from '../../domain/token-request.ts';
import type { Change } from '../../operations/journal/operation-run.ts';
import {
  makeLimitedToken,
  requireWithinLifetime,
  storesEnds,
} from '../../operations/leases/make-limited-token.ts';
import type { TokenRequest } from '../../operations/ports/target.ts';
import { resolveNames } from '../../operations/scope/resolve-names.ts';
import { createToken } from '../../operations/tokens/create-token.ts';
import { lines, would } from '../../reports/document.ts';
import { expiryText, secondsText } from '../../reports/tables/text.ts';
import { type TokenJson, tokenToJson } from '../../reports/tables/token-view.ts';
import type { ChangeRequest, PlannedChange } from '../change/change.ts';
import { endingJobText, leaseEndText } from '../leases/lease-text.ts';

/** What `tokens create` prints with `--json`, unless it is a dry run. */
export interface CreatedJson {
  readonly token: TokenJson;
  readonly output: string;
  /** With --for: when it ends, and the id of its lease, null if the target stores the end. */
  readonly end?: { readonly until: Date; readonly lease: string | null };
}

/** What `tokens create --dry-run` prints with `--json`. */
export interface WouldCreateJson {
  readonly dryRun: true;
  readonly user: string;
  readonly address: string;
  readonly request: TokenRequest;
  readonly output: string;
  /** With --for: its lifetime in seconds, and whether the target stores it. */
  readonly end?: { readonly seconds: number; readonly by: 'stored' | 'lease' };
}

export interface CreationRequest extends ChangeRequest {
  readonly request: TokenRequest;
  readonly output: string;
  /** Its lifetime in seconds, enforced by the target or else by a lease; default: as the request says. */
  readonly seconds?: number | undefined;
}

/** A new token, and when it ends if a time was given. */
interface Created {
  readonly token: Token;
  readonly end?: { readonly until: Date; readonly lease: string | null };
}

/**
 * Plans a token whose value is written to a new file, and nowhere else: it must not appear in a terminal or a
 * build log.
 * @throws TokenctlError `usage` for the file, `unsupported`, `not_found` for a user that a database does not
 * have; its act as {@link createIntoFile}
 */
export async function creationFlow(
  creation: CreationRequest,
): Promise<PlannedChange<Created, CreatedJson | WouldCreateJson>> {
  const { runtime, request, output, seconds } = creation;
  requireNewFile(output);
  const description = await runtime.description();
  const { address, identity, context } = description;
  const by = storesEnds(description) ? ('stored' as const) : ('lease' as const);
  if (description.credential !== 'database_role') {
    requireRestCreates(request, { username: identity.username, dialect: description.dialect });
  } else if (request.user === undefined) {
    throw new TokenctlError('usage', 'Creating a token in a database requires a user', {
      hint: 'Add --user NAME',
    });
  } else await resolveNames(await runtime.target(), { users: [request.user] });
  if (seconds !== undefined) await requireWithinLifetime(await runtime.target(), seconds);
  const { scope, lifetime = seconds, user = identity.username } = request;
  const leased = seconds !== undefined && by === 'lease' && (await plannedEnd(runtime, { context, seconds }));
  const validFor = lifetime === undefined ? '' : `, valid for ${secondsText(lifetime)},`;
  return {
    plan: [
      lines(
        would`create a token with scope ${scope}${validFor} for ${user} at ${address} and write it to ${output}.`,
        leased,
      ),
    ],
    question: { act: 'create it', type: scope },
    act: () => createdIntoFile(creation),
    async ended({ token, end }) {
      const { id, scope, expires } = token;
      const isLeased = end !== undefined && end.lease !== null;
      const ends = isLeased ? await leaseEndText(runtime, { context, until: end.until, expires }) : [];
      return {
        document: [
          lines(
            `Created token ${id}, scope ${scope}${isLeased ? '' : `, expires ${expiryText(expires)}`}.`,
            ...ends,
            `The token is in ${output}, which only you can read.`,
          ),
        ],
      };
    },
    json: ({ done }) =>
      done === null
        ? {
            dryRun: true,
            user,
            address,
            request,
            output,
            ...(seconds !== undefined && { end: { seconds, by } }),
          }
        : { token: tokenToJson(done.token), output, ...(done.end && { end: done.end }) },
  };
}

/** A note that a lease will end the token, and what carries that out. */
async function plannedEnd(runtime: Runtime, { context, seconds }: { context: string; seconds: number }) {
  const until = new Date((await runtime.targetClock()).now().getTime() + seconds * 1000);
  const { text } = await endingJobText(runtime, { context, until });
  return `The REST API accepts no lifetime, so a lease ends the token. ${text}`;
}

/**
 * Creates a token and writes its value to a new file.
 * @throws TokenctlError `usage` for the file, `partly_done` if the token exists and its value is lost, and
 * whatever the operation throws
 */
export async function createIntoFile(creation: Omit<CreationRequest, 'seconds'>): Promise<Token> {
  return (await createdIntoFile(creation)).token;
}

async function createdIntoFile(creation: CreationRequest): Promise<Created> {
  const { runtime, flags, request, output, seconds } = creation;
  const opened = await runtime.change(flags);
  const made = await intoSecretFile(output, {
    make: () => make(opened, { request, seconds }),
    secretOf: ({ value }) => value,
    lost: ({ token: { id } }, cause) =>
      new TokenctlError(
        'partly_done',
        `Token ${id} was created, but its value could not be written to ${output}`,
        {
          hint: `The value is lost. Revoke the token with \`tokenctl tokens revoke --id ${id}\` and create another`,
          details: { tokenId: id },
          cause,
        },
      ),
  });
  const { token, until, lease } = made;
  return { token, ...(seconds !== undefined && { end: { until, lease } }) };
}

async function make(change: Change, { request, seconds }: Pick<CreationRequest, 'request' | 'seconds'>) {
  if (seconds !== undefined) return await makeLimitedToken({ ...change, request, seconds, why: 'create' });
  const created = await createToken({ ...change, request });
  return { ...created, until: created.token.expires, lease: null };
}
