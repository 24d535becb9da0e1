import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import type { Runtime } from '../../app/runtime.ts';
import { contextOf } from '../../config/contexts.ts';
import { readSecret } from '../../config/secrets.ts';
import type { Target } from '../../operations/ports/target.ts';
import type { ContextOutcome } from './context-outcomes.ts';

/** A token of a REST context that was valid in the database of another context before the change. */
interface SharedToken {
  readonly token: Secret;
  readonly context: string;
  /** The context of the database, and the target to query again. */
  readonly databaseContext: string;
  readonly target: Target;
}

/**
 * The tokens with which a change's REST contexts authenticate, if the database of another of its contexts has
 * them: a change of all tokens there also revokes these, and the REST context's remaining work is then done.
 */
export class SharedCredentials {
  readonly #tokens: readonly { readonly context: string; readonly token: Secret }[];
  readonly #shared: SharedToken[] = [];

  constructor({ configuration, environment }: Runtime, contexts: readonly string[]) {
    this.#tokens = contexts.flatMap((name) => {
      const context = contextOf(configuration, name);
      if (context.database !== undefined || context.token === undefined) return [];
      // The context itself reports problems with its credential.
      try {
        return [{ context: name, token: readSecret(context.token, environment) }];
      } catch {
        return [];
      }
    });
  }

  /** Before a change: finds which of the tokens this context's database has, if it can be read. */
  async find(databaseContext: string, place: Runtime): Promise<void> {
    if (this.#tokens.length === 0) return;
    if (contextOf(place.configuration, databaseContext).database === undefined) return;
    try {
      const target = await place.target();
      const values = this.#tokens.map(({ token }) => token);
      for await (const { index, live } of target.identify(values)) {
        const known = this.#tokens[index];
        if (live && known !== undefined) this.#shared.push({ ...known, databaseContext, target });
      }
    } catch (error) {
      if (!(error instanceof TokenctlError)) throw error;
    }
  }

  /** After a change: names the contexts whose token the change revoked through another context's database. */
  async explain(outcomes: readonly ContextOutcome[]): Promise<readonly ContextOutcome[]> {
    const revokedBy = new Map<string, string>();
    for (const { context, databaseContext, target, token } of this.#shared) {
      if (await isRevoked(target, token)) revokedBy.set(context, databaseContext);
    }
    return outcomes.map((outcome) => {
      const by = revokedBy.get(outcome.context.split('/')[0] ?? '');
      return by === undefined ? outcome : { ...outcome, credentialRevokedBy: by };
    });
  }
}

/** Whether the database no longer has a token; false if it could not be read. */
async function isRevoked(target: Target, token: Secret): Promise<boolean> {
  try {
    for await (const { live } of target.identify([token])) if (live) return false;
    return true;
  } catch (error) {
    if (error instanceof TokenctlError) return false;
    throw error;
  }
}
