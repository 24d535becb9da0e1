import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Configuration } from '../../config/configuration.ts';
import { approvalRuleOf, jobsIn, type NamedContext } from '../../config/contexts.ts';
import type { DatabaseContext, RestContext } from '../../config/schema.ts';
import type { DatabaseSetting, SecretReference } from '../../config/value-schemas.ts';
import { facts, lines } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { type Listing, listing } from '../../reports/tables/listing.ts';
import { countText } from '../../reports/tables/text.ts';

/** A context as `--json` shows it. */
export type ContextJson = RestContextJson | DatabaseContextJson;

export type ListedContext = ContextJson & { readonly groups: readonly string[] };

/** What `context show` prints with `--json`. */
export type ShownContextJson = ListedContext & { readonly jobs: readonly string[] };

/** What `context use` prints with `--json`. */
export interface ChosenContextJson {
  readonly currentContext: string;
  /** The context that an environment variable selects instead; null if none does. */
  readonly overriddenBy: string | null;
}

/** What `context current` prints with `--json`. */
export interface CurrentContextJson {
  /** Null if no context is selected. */
  readonly currentContext: string | null;
}

/** A context over REST as `--json` shows it. */
interface RestContextJson {
  readonly name: string;
  readonly current: boolean;
  readonly kind: 'rest';
  readonly url: string;
  readonly username?: string | undefined;
  /** The location of the credential; null if there is none. */
  readonly credential: ({ readonly kind: 'token' | 'password' } & SecretReference) | null;
  readonly caFile?: string | undefined;
  /** The proxy of the context: `none`, its URL or the location of that; absent if the environment decides. */
  readonly proxy?: RestContext['proxy'];
  readonly verifyTls: boolean;
  /** The selected component of a platform; absent for all components. */
  readonly component?: 'gateway' | 'controller' | undefined;
  /** The context of the same controller's database, if one is named. */
  readonly databaseContext?: RestContext['databaseContext'];
}

/** A context of a database as `--json` shows it. */
interface DatabaseContextJson {
  readonly name: string;
  readonly current: boolean;
  readonly kind: 'database';
  /** The connection, or its location if it contains a secret. */
  readonly database: DatabaseSetting;
  /** Where a gateway caches sessions: the location of the address, never the address. */
  readonly cache?: DatabaseContext['cache'] | undefined;
}

export function contextListing(configuration: Configuration): Listing<ListedContext, ListedContext> {
  const { contexts, currentContext } = configuration;
  return listing<ListedContext, ListedContext>({
    rows: Object.entries(contexts).map(([name, settings]) => ({
      ...contextToJson({ ...settings, name }, name === currentContext),
      groups: groupsOf(configuration, name),
    })),
    columns: [
      { name: 'current', cell: ({ current }) => (current ? '*' : '') },
      { name: 'name', cell: ({ name }) => name, whole: true },
      { name: 'kind', cell: ({ kind }) => kind, whole: true },
      { name: 'address', cell: addressText, whole: true },
      { name: 'groups', cell: ({ groups }) => groups.join(', '), only: 'unlessEmpty' },
      {
        name: 'username',
        cell: (context) => (context.kind === 'rest' ? (context.username ?? '') : ''),
        only: 'unlessEmpty',
      },
      {
        name: 'credential',
        cell: (context) => (context.kind === 'rest' ? credentialText(context) : ''),
        narrow: 'below',
      },
    ],
    json: (context) => context,
    none: 'No contexts. Add one with `tokenctl context add NAME --url URL`.',
  });
}

function groupsOf({ groups }: Configuration, context: string): string[] {
  return Object.entries(groups).flatMap(([group, members]) => (members.includes(context) ? [group] : []));
}

export function contextToJson(context: NamedContext, current: boolean): ContextJson {
  const { name } = context;
  if (context.database !== undefined) {
    const { database, cache } = context;
    return { name, current, kind: 'database', database, cache };
  }
  const { url, username, token, password, caFile, proxy, verifyTls, component, databaseContext } = context;
  return {
    name,
    current,
    kind: 'rest',
    url,
    username,
    credential: credentialOf(token, password),
    caFile,
    proxy,
    verifyTls: verifyTls ?? true,
    component,
    databaseContext,
  };
}

function credentialOf(token?: SecretReference, password?: SecretReference): RestContextJson['credential'] {
  if (token !== undefined) return { kind: 'token', ...token };
  return password === undefined ? null : { kind: 'password', ...password };
}

function proxyText(proxy: RestContext['proxy']): string | undefined {
  if (proxy === undefined || typeof proxy === 'string') return proxy;
  const { url } = 'url' in proxy ? proxy : { url: proxy };
  return typeof url === 'string' ? url : `URL in ${placeText(url)}`;
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

/** The result of `context use`, with a note if the environment selects another context. */
export function chosenResult(name: string, overriddenBy: string | undefined): Report<ChosenContextJson> {
  const other = overriddenBy === name ? undefined : overriddenBy;
  return report({
    json: { currentContext: name, overriddenBy: other ?? null },
    document: [
      lines(
        `The current context is "${name}".`,
        other !== undefined &&
          `In this shell, an environment variable selects "${other}" instead (TOKENCTL_CONTEXT, CONTROLLER_HOST, AAP_HOSTNAME or TOKENCTL_DATABASE).`,
      ),
    ],
  });
}

function databasesText(named: RestContext['databaseContext']): string | undefined {
  if (named === undefined || typeof named === 'string') return named;
  return Object.entries(named)
    .map(([component, name]) => `${name} (${component})`)
    .join(', ');
}

/** The four-eyes rule, if it is in force. */
function approvalText(configuration: Configuration, name: string): string | undefined {
  const { required, aloneUpTo, approvers } = approvalRuleOf(configuration, name);
  if (!required) return undefined;
  return `by ${Object.keys(approvers).join(' or ')}, for more than ${countText(aloneUpTo, 'token')}`;
}

export function shownContextResult(
  configuration: Configuration,
  context: NamedContext,
): Report<ShownContextJson> {
  const { name } = context;
  const isCurrent = name === configuration.currentContext;
  const shown = contextToJson(context, isCurrent);
  const groups = groupsOf(configuration, name);
  const jobs = jobsIn(configuration.jobs, [name, ...groups]);
  const ofRest: Parameters<typeof facts>[0] =
    shown.kind !== 'rest'
      ? []
      : [
          ['User name', shown.username],
          ['Credential', credentialText(shown)],
          ['TLS', !shown.verifyTls && 'the certificate is not verified'],
          ['CA file', shown.caFile],
          ['Proxy', proxyText(shown.proxy)],
          ['Component', shown.component],
          ['Database', databasesText(shown.databaseContext)],
        ];
  return report({
    json: { ...shown, groups, jobs },
    document: [
      facts(
        [
          ['Address', addressText(shown)],
          ...ofRest,
          ['Approval', approvalText(configuration, name)],
          ['Groups', groups.join(', ')],
          ['Jobs', jobs.join(', ')],
        ],
        `Context "${name}"${isCurrent ? ', the current one' : ''}`,
      ),
    ],
  });
}

/** The name of the current context. Without one, it fails with `configuration`, so that scripts notice. */
export function currentResult(currentContext: string | undefined): Report<CurrentContextJson> {
  return report({
    json: { currentContext: currentContext ?? null },
    document: [lines(currentContext)],
    failure:
      currentContext === undefined
        ? new TokenctlError('configuration', 'No context is selected', {
            hint: 'Select one: tokenctl context use NAME',
          })
        : undefined,
  });
}
