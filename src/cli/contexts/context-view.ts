import type { Configuration } from '../../config/configuration.ts';
import type { NamedContext } from '../../config/contexts.ts';
import type { DatabaseSetting, SecretReference } from '../../config/value-schemas.ts';
import { type Listing, listing, type Report, report } from '../../reports/tables/result.ts';

/** A context as `--json` shows it. */
export type ContextJson = RestContextJson | DatabaseContextJson;

/** A context in a list of them, with the groups that it is in. */
type ListedContext = ContextJson & { readonly groups: readonly string[] };

/** A context over REST as `--json` shows it. */
interface RestContextJson {
  readonly name: string;
  readonly current: boolean;
  readonly kind: 'rest';
  readonly url: string;
  readonly username?: string | undefined;
  /** Where the credential is; null for a context without one. */
  readonly credential: ({ readonly kind: 'token' | 'password' } & SecretReference) | null;
  readonly caFile?: string | undefined;
  readonly verifyTls: boolean;
  /** The component of a platform that is meant; absent for all that keep tokens. */
  readonly component?: 'gateway' | 'controller' | undefined;
}

/** A context of a database as `--json` shows it. */
interface DatabaseContextJson {
  readonly name: string;
  readonly current: boolean;
  readonly kind: 'database';
  /** The connection where it holds no secret, else where it is kept. */
  readonly database: DatabaseSetting;
}

/** The contexts of a configuration as a command's result. */
export function contextListing(configuration: Configuration): Listing<ListedContext> {
  const { contexts, currentContext } = configuration;
  return listing<ListedContext>({
    rows: Object.entries(contexts).map(([name, settings]) => ({
      ...contextToJson({ ...settings, name }, name === currentContext),
      groups: groupsOf(configuration, name),
    })),
    columns: [
      { name: 'current', cell: ({ current }) => (current ? '*' : '') },
      { name: 'name', cell: ({ name }) => name, whole: true },
      { name: 'kind', cell: ({ kind }) => kind, whole: true },
      { name: 'address', cell: addressText },
      { name: 'groups', cell: ({ groups }) => groups.join(', '), only: 'unlessEmpty' },
      {
        name: 'username',
        cell: (context) => (context.kind === 'rest' ? (context.username ?? '') : ''),
        only: 'unlessEmpty',
      },
      { name: 'credential', cell: (context) => (context.kind === 'rest' ? credentialText(context) : '') },
    ],
    json: (context) => context,
    none: 'No contexts. Make one with `tokenctl context add NAME --url URL`.',
  });
}

function groupsOf({ groups }: Configuration, context: string): string[] {
  return Object.entries(groups).flatMap(([group, members]) => (members.includes(context) ? [group] : []));
}

/** The JSON form of a context. */
export function contextToJson(context: NamedContext, current: boolean): ContextJson {
  const { name } = context;
  if (context.database !== undefined) return { name, current, kind: 'database', database: context.database };
  const { url, username, token, password, caFile, verifyTls, component } = context;
  return {
    name,
    current,
    kind: 'rest',
    url,
    username,
    credential: credentialOf(token, password),
    caFile,
    verifyTls: verifyTls ?? true,
    component,
  };
}

function credentialOf(token?: SecretReference, password?: SecretReference): RestContextJson['credential'] {
  if (token !== undefined) return { kind: 'token', ...token };
  return password === undefined ? null : { kind: 'password', ...password };
}

function addressText(context: ContextJson): string {
  if (context.kind === 'rest') return context.url;
  const { database } = context;
  return typeof database === 'string' ? database : `URL in ${placeText(database)}`;
}

function credentialText({ credential }: RestContextJson): string {
  return credential === null ? 'none' : `${credential.kind} in ${placeText(credential)}`;
}

function placeText(reference: SecretReference): string {
  return 'file' in reference ? reference.file : `$${reference.env}`;
}

/** The current context, as a command's result, with what the environment makes of that choice. */
export function chosenResult(name: string, overriddenBy: string | undefined): Report {
  const override =
    overriddenBy === undefined || overriddenBy === name
      ? ''
      : `In this shell the environment chooses "${overriddenBy}" instead (TOKENCTL_CONTEXT, CONTROLLER_HOST or TOKENCTL_DATABASE).\n`;
  return report({
    json: { currentContext: name, overriddenBy: override === '' ? null : overriddenBy },
    text: () => `The current context is "${name}".\n${override}`,
  });
}
