import type { Configuration } from '../config/configuration.ts';
import type { NamedContext } from '../config/contexts.ts';
import type { SecretReference } from '../config/schema.ts';
import { type Listing, listing } from './result.ts';

/** A context as `--json` shows it. */
export interface ContextJson {
  readonly name: string;
  readonly current: boolean;
  readonly url: string;
  readonly username?: string | undefined;
  /** Where the credential is; null for a context without one. */
  readonly credential: ({ readonly kind: 'token' | 'password' } & SecretReference) | null;
  readonly caFile?: string | undefined;
  readonly verifyTls: boolean;
}

/** The contexts of a configuration as a command's result. */
export function contextListing({ contexts, currentContext }: Configuration): Listing<ContextJson> {
  return listing({
    rows: Object.entries(contexts).map(([name, settings]) =>
      contextToJson({ ...settings, name }, name === currentContext),
    ),
    columns: [
      { name: 'current', cell: ({ current }) => (current ? '*' : '') },
      { name: 'name', cell: ({ name }) => name, whole: true },
      { name: 'url', cell: ({ url }) => url },
      { name: 'username', cell: ({ username }) => username ?? '', only: 'unlessEmpty' },
      { name: 'credential', cell: ({ credential }) => credentialText(credential) },
    ],
    json: (context) => context,
    none: 'No contexts. Make one with `tokenctl context add NAME --url URL`.',
  });
}

/** The JSON form of a context. */
export function contextToJson(context: NamedContext, current: boolean): ContextJson {
  const { name, url, username, token, password, caFile, verifyTls } = context;
  return {
    name,
    current,
    url,
    username,
    credential: credentialOf(token, password),
    caFile,
    verifyTls: verifyTls ?? true,
  };
}

function credentialOf(token?: SecretReference, password?: SecretReference): ContextJson['credential'] {
  if (token !== undefined) return { kind: 'token', ...token };
  return password === undefined ? null : { kind: 'password', ...password };
}

function credentialText(credential: ContextJson['credential']): string {
  if (credential === null) return 'none';
  return `${credential.kind} in ${'file' in credential ? credential.file : `$${credential.env}`}`;
}
