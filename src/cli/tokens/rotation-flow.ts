import { setTimeout } from 'node:timers/promises';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { allowsWriting } from '@tokenctl/common/token-terms.ts';
import type { Runtime } from '../../app/runtime.ts';
import { requireNewFile } from '../../app/secret-file.ts';
import { absolutePath } from '../../config/paths.ts';
import { shellWord } from '../../domain/remedies.ts';
import type { Token } from '../../domain/token.ts';
import { requireRestCreates } from '../../domain/token-request.ts';
import type { TargetDescription, TokenRequest } from '../../operations/ports/target.ts';
import { planRevocation } from '../../operations/revocation/plan-revocation.ts';
import type { RevocationReport } from '../../operations/revocation/revocation-report.ts';
import { revokeTokens } from '../../operations/revocation/revoke-tokens.ts';
import { resolveTokenIds } from '../../operations/scope/resolve-names.ts';
import { requireMayChange } from '../../operations/scope/visibility.ts';
import { lines, steps, would } from '../../reports/document.ts';
import { expiryText, secondsText, timeText } from '../../reports/tables/text.ts';
import { type TokenJson, tokenToJson } from '../../reports/tables/token-view.ts';
import type { ChangeRequest, PlannedChange } from '../change/change.ts';
import { placeText } from '../change/plan-text.ts';
import { writeNotice } from '../output/streams.ts';
import { revocationEnding } from '../revocation/revocation-ending.ts';
import { createIntoFile } from './creation-flow.ts';
import type { RotationFlags } from './token-flags.ts';
import { useText } from './token-use.ts';

/** What `tokens rotate` prints with `--json`, unless it is a dry run. */
export interface RotatedJson {
  readonly oldTokenId: number;
  readonly token: TokenJson;
  /** The file with the new token. */
  readonly output: string;
  readonly tried: Tried;
  /** The result for the old token. */
  readonly revocation: RevocationReport;
}

/** What `tokens rotate --dry-run` prints with `--json`. */
export interface WouldRotateJson {
  readonly dryRun: true;
  readonly token: TokenJson;
  readonly output: string;
  /** In seconds. */
  readonly grace: number;
}

interface RotationRequest extends ChangeRequest<RotationFlags> {
  readonly tokenId: number;
}

/** The input of the command: without a consumer, the id and the file are required. */
type GivenRotation = ChangeRequest<RotationFlags> & { readonly tokenId: number | undefined };

/** A command waits no longer than this; a change that takes days needs two commands. */
const MAX_GRACE_MS = 86_400_000;

/**
 * Plans a rotation: to create the new token, test it, wait for the grace time, and revoke the old token.
 * @throws TokenctlError `usage` for the file or a grace time above a day, `not_found` for an unknown token,
 * `unsupported` for a token of an application or, over REST, of another user; `partly_done` if the new token
 * does not work: the old one is kept; `interrupted` during the grace time; and as the creation and the
 * revocation do.
 */
export async function rotationFlow(
  given: GivenRotation,
): Promise<PlannedChange<Rotated, RotatedJson | WouldRotateJson>> {
  const { runtime, tokenId, flags } = given;
  const { grace = 0 } = flags;
  if (tokenId === undefined || flags.output === undefined) {
    throw new TokenctlError('usage', `Missing ${tokenId === undefined ? 'argument: ID' : 'flag: --output'}`, {
      hint: "Specify the token and a new file: `tokenctl tokens rotate ID --output FILE`. To rotate the token of a job's consumer, use only --consumer.",
    });
  }
  const rotation: RotationRequest = { ...given, tokenId };
  const output = absolutePath(flags.output, process.cwd(), runtime.environment);
  requireNewFile(output);
  if (grace > MAX_GRACE_MS) {
    throw new TokenctlError('usage', 'The grace time can be at most a day', {
      hint: 'For a longer time, use `tokenctl tokens create` now and `tokenctl tokens revoke --id` later.',
    });
  }
  const description = await runtime.description();
  const old = await requireToken(runtime, tokenId);
  const request = requestFor(old, { description, expires: flags.expires });
  const described = old.description === '' ? '' : `, described as "${old.description}"`;
  const validFor = request.lifetime === undefined ? '' : `, valid for ${secondsText(request.lifetime)}`;
  const todo = [
    `Create a token with scope ${request.scope}${validFor} in ${output}, and check it.`,
    ...(grace === 0 ? [] : [`Wait for ${secondsText(grace / 1000)}.`]),
    `Revoke token ${tokenId}.`,
  ];
  return {
    plan: [
      lines(
        would`rotate token ${tokenId} of ${old.user?.username ?? ''}, scope ${old.scope}${described}.`,
        placeText(description),
        steps(todo),
      ),
    ],
    question: { act: `rotate token ${tokenId}`, type: String(tokenId) },
    require: () => requireMayChange(description),
    async act() {
      const created = await createIntoFile({ ...rotation, request, output });
      const tried = await tryNew(runtime, { created, output, description, tokenId });
      await waitFor(grace, { runtime, tokenId });
      return await revokeOld(rotation, { created, output, tried, description }).catch((error: unknown) => {
        throw bothValid(error, { tokenId, output, description });
      });
    },
    ended: ({ created, tried, isOwn, revocation }) => {
      // Its owner keeps access: the owner's other credentials are not part of a rotation.
      const { document, failure } = revocationEnding({ ...revocation, accessPaths: [] });
      return {
        document: [
          lines(
            `Created token ${created.id}, scope ${created.scope}, expires ${expiryText(created.expires)}, in ${output}.`,
            TRIED[tried],
          ),
          ...document,
          lines(isOwn && useText(runtime, { name: description.context, file: output })),
        ],
        failure,
      };
    },
    json: ({ done }) =>
      done === null
        ? { dryRun: true, token: tokenToJson(old), output, grace: grace / 1000 }
        : {
            oldTokenId: tokenId,
            token: tokenToJson(done.created),
            output,
            tried: done.tried,
            revocation: done.revocation,
          },
  };
}

/** A new token, and the result for the old one. */
type Rotated = Awaited<ReturnType<typeof revokeOld>>;

export async function requireToken(runtime: Runtime, tokenId: number): Promise<Token> {
  const target = await runtime.target();
  for await (const token of target.tokens({ ids: [tokenId] })) return token;
  await resolveTokenIds(target, [tokenId]);
  throw new TokenctlError('not_found', `Token ${tokenId} is not listed`, {
    hint: `To see its history: tokenctl tokens trace ${tokenId}`,
  });
}

/** The request for a token like the old one. */
function requestFor(
  old: Token,
  { description, expires }: { description: TargetDescription; expires: number | undefined },
): TokenRequest {
  const { credential, identity } = description;
  if (old.application !== null) {
    throw new TokenctlError(
      'unsupported',
      `Token ${old.id} belongs to the application ${old.application.name}`,
      {
        hint: 'Obtain a new one with the application, then revoke this one with `tokenctl tokens revoke --id`.',
      },
    );
  }
  const isRole = credential === 'database_role';
  const owner = old.user?.username;
  if (owner === undefined || (!isRole && old.user?.id !== identity.id)) {
    throw new TokenctlError('unsupported', `Token ${old.id} belongs to ${owner ?? 'a missing user'}`, {
      hint: 'Over REST, tokens are created for the caller only. Authenticate as its owner, or use a database context.',
    });
  }
  const lifetime = expires === undefined ? undefined : Math.round(expires / 1000);
  if (!isRole)
    requireRestCreates({ lifetime }, { username: identity.username, dialect: description.dialect });
  return { scope: scopeLike(old), description: old.description, ...(isRole && { user: owner }), lifetime };
}

/** The scope of a token like the old one. `write` includes `read`; other words, as on gateways, stay. */
function scopeLike(old: Token): string {
  const words = old.scope.split(' ');
  if (words.some((word) => word !== 'read' && word !== 'write')) return old.scope;
  return allowsWriting(old) ? 'write' : 'read';
}

/** How the new token was checked: by a request with it, or by re-reading it in the database. */
type Tried = 'accepted' | 'read_again';

async function tryNew(
  runtime: Runtime,
  options: { created: Token; output: string; description: TargetDescription; tokenId: number },
): Promise<Tried> {
  const { created, output, description, tokenId } = options;
  const works =
    description.credential === 'database_role'
      ? await isListed(runtime, created.id)
      : await isAccepted(runtime, { output, userId: description.identity.id });
  if (works) return description.credential === 'database_role' ? 'read_again' : 'accepted';
  throw new TokenctlError(
    'partly_done',
    `The new token ${created.id} does not work; token ${tokenId} was kept`,
    {
      hint: `The new token is in ${output}. Test it, or revoke it with \`tokenctl tokens revoke --id ${created.id}\`.`,
      details: { tokenId: created.id },
    },
  );
}

async function isListed(runtime: Runtime, tokenId: number): Promise<boolean> {
  for await (const _token of (await runtime.target()).tokens({ ids: [tokenId] })) return true;
  return false;
}

async function isAccepted(runtime: Runtime, { output, userId }: { output: string; userId: number | null }) {
  try {
    return (await runtime.withToken(output).description()).identity.id === userId;
  } catch (error) {
    if (error instanceof TokenctlError) return false;
    throw error;
  }
}

async function waitFor(grace: number, { runtime, tokenId }: { runtime: Runtime; tokenId: number }) {
  if (grace === 0) return;
  const until = new Date(runtime.clock.now().getTime() + grace);
  writeNotice(`Token ${tokenId} is revoked at ${timeText(until)}. Ctrl-C leaves it valid.`);
  try {
    await setTimeout(grace, undefined, { signal: runtime.stopSignal() });
  } catch (cause) {
    throw new TokenctlError(
      'interrupted',
      `Interrupted: token ${tokenId} was kept, and the new token is valid`,
      { hint: `To revoke it: tokenctl tokens revoke --id ${tokenId}`, cause },
    );
  }
}

/** Revokes the old token, with the new one if it may: the old one can be the context's credential. */
async function revokeOld(
  { runtime, flags, tokenId }: RotationRequest,
  done: { created: Token; output: string; tried: Tried; description: TargetDescription },
) {
  const { created, output, tried } = done;
  // Whether the old token was the context's credential.
  const isOwn =
    done.description.credential === 'token' &&
    (await (await runtime.target()).ownTokenIds()).includes(tokenId);
  const working = tried === 'accepted' && allowsWriting(created) ? runtime.withToken(output) : runtime;
  const target = await working.target();
  const selector = { ids: [tokenId] };
  const plan = await planRevocation({
    target,
    selector,
    includeOwn: true,
    clock: await runtime.targetClock(),
    description: await working.description(),
  });
  const revocation = await revokeTokens({ ...(await working.change(flags)), plan });
  return { created, tried, isOwn, revocation };
}

/** The failure after the new token was created: neither is revoked, unless only its record is missing. */
function bothValid(
  error: unknown,
  made: { readonly tokenId: number; readonly output: string; readonly description: TargetDescription },
): unknown {
  if (!(error instanceof TokenctlError) || error.code === 'outcome_unrecorded') return error;
  const { tokenId, output, description } = made;
  return new TokenctlError(error.code, `Token ${tokenId} was not revoked: ${error.message}`, {
    hint: `Both tokens are valid: the new one is in ${output}. To revoke the old one: tokenctl tokens revoke --id ${tokenId} --context ${shellWord(description.context)}`,
    cause: error,
  });
}

const TRIED: Readonly<Record<Tried, string>> = {
  accepted: 'The new token was accepted.',
  read_again: 'The new token was verified in the database, not tested against the API.',
};
