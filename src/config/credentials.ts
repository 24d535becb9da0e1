import { TokenctlError } from '../domain/errors.ts';
import type { Secret } from '../domain/secret.ts';
import type { NamedRestContext } from './contexts.ts';
import { ENVIRONMENT_CONTEXT } from './environment-layer.ts';
import type { Environment } from './paths.ts';
import { readSecret } from './secrets.ts';

/** How a context signs in. */
export type ContextCredential =
  | { readonly kind: 'token'; readonly token: Secret }
  | { readonly kind: 'password'; readonly username: string; readonly password: Secret };

/**
 * Reads the credential of a context from where the context says it is.
 *
 * @throws TokenctlError `configuration` where it has none, or it cannot be read safely
 */
export function credentialOf(context: NamedRestContext, environment: Environment): ContextCredential {
  const { name, token, username, password } = context;
  if (token !== undefined) return { kind: 'token', token: readSecret(token, environment) };
  if (password !== undefined && username !== undefined) {
    return { kind: 'password', username, password: readSecret(password, environment) };
  }
  throw new TokenctlError('configuration', `The context "${name}" has no credential`, {
    hint:
      name === ENVIRONMENT_CONTEXT
        ? 'Set CONTROLLER_OAUTH_TOKEN, or CONTROLLER_USERNAME and CONTROLLER_PASSWORD'
        : `Give it one: tokenctl context add ${name} --replace --url URL --token-file FILE`,
  });
}
