import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { type NamedRestContext, sameAddress } from '../config/contexts.ts';
import { readSecret } from '../config/secrets.ts';
import type { Runtime } from './runtime.ts';

/** The controller's tokens that tokenctl authenticates with, in this context or another one. */
export interface TokensInUse {
  /** The contexts by token id. A context has several tokens if the target can only narrow it down. */
  readonly contexts: ReadonlyMap<number, string>;
  /** The contexts whose token is unknown and why, as sentences with a full stop. */
  readonly unknown: readonly string[];
}

/**
 * Finds the tokens of the configured contexts. A database finds them by their hashes. Over REST, only
 * contexts with the same address are queried, so that no token is sent elsewhere.
 * @throws TokenctlError as this context's target.
 */
export async function tokensInUse(runtime: Runtime): Promise<TokensInUse> {
  const { contexts: configured } = runtime.configuration;
  const { context: own, credential } = await runtime.description();
  const target = await runtime.target();
  const contexts = new Map<number, string>();
  const unknown: string[] = [];
  for (const id of await target.ownTokenIds()) contexts.set(id, own);
  for (const [name, settings] of Object.entries(configured)) {
    if (settings.url === undefined || settings.token === undefined || name === own) continue;
    try {
      const ids =
        credential === 'database_role'
          ? await idsOf(runtime, readSecret(settings.token, runtime.environment))
          : await idsIn(runtime, { ...settings, name });
      for (const id of ids) contexts.set(id, name);
    } catch (error) {
      if (!(error instanceof TokenctlError) || error.code === 'interrupted') throw error;
      unknown.push(`Which token the context ${name} uses is not known: ${error.message.replace(/\.$/, '')}.`);
    }
  }
  return { contexts, unknown };
}

async function idsOf(runtime: Runtime, value: Secret): Promise<readonly number[]> {
  const found: number[] = [];
  for await (const { kind, ids } of (await runtime.target()).identify([value]))
    if (kind === 'access_token') found.push(...ids);
  return found;
}

async function idsIn(runtime: Runtime, context: NamedRestContext): Promise<readonly number[]> {
  const { configuration, progress } = runtime;
  const { context: own } = await runtime.description();
  if (!sameAddress(context.url, configuration.contexts[own.split('/')[0] ?? '']?.url)) return [];
  return await (await runtime.in({ context: context.name, progress }).target()).ownTokenIds();
}
