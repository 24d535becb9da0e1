import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { errorCode, exchange } from '@tokenctl/common/network/exchange.ts';
import { isProtected } from '@tokenctl/common/network-address.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { z } from 'zod';
import { secretFrom } from '../../config/secrets.ts';

/** The source of a run's identity, and its audience. */
export interface IdentitySource {
  readonly file?: string | undefined;
  readonly variable?: string | undefined;
  /** The audience to request from GitHub; by default the broker's address. */
  readonly audience?: string | undefined;
}

/** An identity, and the environment variables that contain it. */
export interface RunIdentity {
  readonly token: Secret;
  readonly variables: readonly string[];
}

/** The variable for a job's identity, as the documentation sets it up for GitLab and others. */
const IDENTITY_VARIABLE = 'TOKENCTL_IDENTITY';
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 64 * 1024;

/**
 * Finds the identity of this run: in the given file or variable, by requesting it from GitHub Actions, or in
 * TOKENCTL_IDENTITY.
 * @throws TokenctlError `configuration` if there is none; `target_unreachable`, `permission_refused` if
 * GitHub sends none.
 */
export async function findIdentity(
  broker: string,
  source: IdentitySource,
  environment: NodeJS.ProcessEnv,
): Promise<RunIdentity> {
  if (source.file !== undefined) return { token: secretInFile(source.file), variables: [] };
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer } = environment;
  if (source.variable === undefined && url && bearer)
    return { token: await askGitHub({ url, bearer, audience: source.audience ?? broker }), variables: [] };
  const name = source.variable ?? IDENTITY_VARIABLE;
  const value = environment[name];
  if (value) return { token: secretFrom(value, `The variable ${name}`), variables: [name] };
  throw new TokenctlError('configuration', `This run has no identity: ${name} is not set`, {
    hint: 'Name its file with --identity-file or its variable with --identity-env; in GitHub Actions, add `permissions: id-token: write`.',
  });
}

/** Others in the pod read projected Kubernetes files, so their mode is not checked. */
function secretInFile(path: string): Secret {
  try {
    return secretFrom(readFileSync(path, 'utf8'), `The identity file ${path}`);
  } catch (cause) {
    if (cause instanceof TokenctlError) throw cause;
    throw new TokenctlError(
      'configuration',
      `The identity file ${path} cannot be read (${errorCode(cause)})`,
      { cause },
    );
  }
}

async function askGitHub(ask: { url: string; bearer: string; audience: string }): Promise<Secret> {
  const { url, bearer, audience } = ask;
  const address = URL.canParse(url) ? new URL(url) : null;
  if (address === null)
    throw new TokenctlError('configuration', 'ACTIONS_ID_TOKEN_REQUEST_URL is no address');
  address.searchParams.set('audience', audience);
  const { status, body } = await send('GitHub Actions', address.href, {
    headers: { authorization: `Bearer ${bearer}`, accept: 'application/json' },
  });
  const { value } = Object(body) as { readonly value?: unknown };
  if (status === 200 && typeof value === 'string' && value !== '') return new Secret(value);
  throw new TokenctlError('permission_refused', `GitHub Actions gave no identity (${status})`, {
    hint: 'The job needs `permissions: id-token: write`.',
  });
}

export interface BrokeredToken {
  readonly value: Secret;
  readonly scope: string;
  /** How many seconds it is valid. */
  readonly seconds: number;
  /** The controller's address; null if the broker does not say. */
  readonly host: string | null;
}

const given = z.object({
  access_token: z.string().min(1),
  token_type: z.string(),
  expires_in: z.number(),
  scope: z.string().default(''),
  controller_host: z.string().optional(),
});

/** The number of attempts if the broker is temporarily unable, and the maximum wait between them, in seconds. */
const ATTEMPTS = 3;
const MAX_WAIT_S = 31;

/**
 * Exchanges an identity for a token (RFC 8693). If the broker is temporarily unable, it retries twice.
 * @throws TokenctlError `usage` for an unprotected address, `permission_refused` if the broker refuses,
 * `target_unreachable`, `target_misbehaved`.
 */
export async function requestToken(
  broker: string,
  identity: Secret,
  wanted: { readonly scope: string | undefined; readonly audience: string | undefined },
): Promise<BrokeredToken> {
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: identity.reveal(),
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    ...(wanted.scope !== undefined && { scope: wanted.scope }),
    ...(wanted.audience !== undefined && { audience: wanted.audience }),
  });
  for (let attempt = 1; ; attempt += 1) {
    const { status, body, wait } = await send('The broker', addressOf(broker, 'token'), {
      ...{ method: 'POST', body: form },
    });
    if (status === 200) return tokenIn(body);
    if ((status !== 503 && status !== 429) || attempt === ATTEMPTS) throw refusal(status, body);
    await sleep(Math.min(wait, MAX_WAIT_S) * 1000);
  }
}

function tokenIn(body: unknown): BrokeredToken {
  const { success, data } = given.safeParse(body);
  if (!success)
    throw new TokenctlError('target_misbehaved', 'The broker answered with something else than a token');
  const { access_token: value, expires_in: seconds, scope, controller_host: host = null } = data;
  return { value: new Secret(value), scope, seconds, host };
}

/** Returns a token to its broker for revocation (RFC 7009). Throws as {@link requestToken}. */
export async function returnToken(broker: string, token: Secret): Promise<void> {
  const body = new URLSearchParams({ token: token.reveal() });
  const { status, body: answer } = await send('The broker', addressOf(broker, 'revoke'), {
    method: 'POST',
    body,
  });
  if (status !== 200) throw refusal(status, answer);
}

function addressOf(broker: string, path: string): string {
  const url = URL.canParse(broker) ? new URL(broker) : null;
  if (url === null || !isProtected(url) || url.search !== '' || url.hash !== '')
    throw new TokenctlError('usage', `--via: "${broker}" is no https:// address of a broker`);
  return `${url.href.replace(/\/$/, '')}/${path}`;
}

function refusal(status: number, body: unknown): TokenctlError {
  const { error_description: text } = Object(body) as { readonly error_description?: unknown };
  const why = typeof text === 'string' && /^[\x20-\x7e]{1,200}$/.test(text) ? `: ${text}` : '';
  const isPassing = status === 429 || status >= 500;
  return new TokenctlError(
    isPassing ? 'target_unreachable' : 'permission_refused',
    `The broker answered ${status}${why}`,
    {
      hint: isPassing
        ? 'Try again later.'
        : 'Check the log of the broker, and the section `broker` of its configuration.',
    },
  );
}

/** The code of a network error, or else its message. */
function reasonOf(cause: unknown): string {
  const code = errorCode(cause);
  const inner = cause instanceof Error ? (cause.cause ?? cause) : cause;
  return code === 'Error' && inner instanceof Error ? inner.message : code;
}

async function send(name: string, url: string, request: RequestInit) {
  const response = await exchange(url, {
    ...request,
    maxBytes: MAX_BYTES,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((cause: unknown) => {
    if (cause instanceof TokenctlError) throw cause;
    throw new TokenctlError('target_unreachable', `${name} could not be reached (${reasonOf(cause)})`, {
      hint: 'Check the address, the network and the certificate.',
      cause,
    });
  });
  const wait = Number(response.headers.get('retry-after') ?? 1);
  return {
    status: response.status,
    body: (await response.json().catch(() => null)) as unknown,
    wait: Number.isFinite(wait) && wait > 0 ? wait : 1,
  };
}
