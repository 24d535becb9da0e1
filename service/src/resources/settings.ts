import type { FastifyInstance } from 'fastify';
import { canSeeEverything } from '../access.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, invalid, notFound } from '../failure.ts';
import { jsonObject } from '../request.ts';
import { changeSettings, resetSettings } from '../settings/change-settings.ts';
import type { SettingCategory, SettingDefinition } from '../settings/checks.ts';
import { ALL_DEFINITIONS, currentSettings, shown } from '../settings/settings.ts';
import { BACKENDS, OPENID_BACKENDS, PREFIXES } from '../sso/backends.ts';
import { ssoConfiguration } from '../sso/configuration.ts';
import { callbackUrl } from '../sso/login.ts';
import { EVENT_PATHS } from '../sso/provider-events.ts';
import { withFetchedMetadata } from '../sso/saml-import.ts';
import { readSettings } from '../store/settings.ts';

const CATEGORY_NAMES: Readonly<Record<SettingCategory, string>> = {
  authentication: 'Authentication',
  'azuread-oauth2': 'Azure AD OAuth2',
  github: 'GitHub OAuth2',
  'google-oauth2': 'Google OAuth2',
  oidc: 'Generic OIDC',
  saml: 'SAML',
  system: 'System',
};

const CATEGORIES: Readonly<Record<string, string>> = { all: 'All', ...CATEGORY_NAMES, changed: 'Changed' };

/** `/api/v2/settings/` and `/api/v2/settings/<category>/`. */
export function serveSettings(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/settings/',
    name: 'Setting categories',
    description: 'The settings categories that you can see.',
    handlers: { GET: (exchange) => listCategories(exchange) },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/settings/:category(^[a-z0-9-]+$)/',
    name: 'Settings',
    description: 'One settings category. DELETE resets all of them to the defaults.',
    handlers: {
      GET: read,
      PUT: (exchange) => change(exchange, true),
      PATCH: (exchange) => change(exchange, false),
      DELETE: reset,
    },
    describe: (exchange) =>
      describeSettings(definitionsOf(exchange), {
        caller: exchange.caller,
        fixed: exchange.service.fixedSettings,
      }),
  });
}

function listCategories({ caller }: Exchange): Promise<unknown> {
  const visible = canSeeEverything(caller.user) ? Object.entries(CATEGORIES) : [];
  const results = visible.map(([slug, name]) => ({ url: `/api/v2/settings/${slug}/`, slug, name }));
  return Promise.resolve({ count: results.length, next: null, previous: null, results });
}

/** The settings of the category in the path. Superusers and auditors may read them, others get 403. */
function categoryDefinitions(exchange: Exchange): readonly SettingDefinition[] {
  if (!canSeeEverything(exchange.caller.user)) throw forbidden();
  return definitionsOf(exchange);
}

/** The same without values, for everyone: OPTIONS describes them, as on the controller. */
function definitionsOf({ params }: Exchange): readonly SettingDefinition[] {
  const { category = '' } = params;
  if (!Object.hasOwn(CATEGORIES, category)) throw notFound();
  if (category === 'all' || category === 'changed') return ALL_DEFINITIONS;
  return ALL_DEFINITIONS.filter((definition) => definition.category === category);
}

async function read(exchange: Exchange): Promise<unknown> {
  const definitions = categoryDefinitions(exchange);
  const { database, fixedSettings } = exchange.service;
  const settings: Readonly<Record<string, unknown>> = {
    ...(await currentSettings(database)),
    ...Object.fromEntries(fixedSettings),
    ...(await derivedSettings(exchange)),
  };
  const stored = await readSettings(database);
  const wanted =
    exchange.params['category'] === 'changed'
      ? [...stored.keys()].flatMap((key) => definitions.find((definition) => definition.key === key) ?? [])
      : definitions;
  return Object.fromEntries(
    wanted.map((definition) => {
      const { key, defaultValue } = definition;
      const value = Object.hasOwn(settings, key) ? settings[key] : (stored.get(key) ?? defaultValue);
      return [key, shown(definition, value)];
    }),
  );
}

/** Settings derived from other settings and from the service's URL. */
async function derivedSettings({ service, request }: Exchange): Promise<Record<string, unknown>> {
  const { backends } = await ssoConfiguration(service, service.database);
  const { DISABLE_LOCAL_AUTH } = await currentSettings(service.database);
  const urls = BACKENDS.map((backend) => [
    `${PREFIXES[backend]}_CALLBACK_URL`,
    callbackUrl(request, backend),
  ]);
  const eventUrls = OPENID_BACKENDS.flatMap((backend) => [
    [`${PREFIXES[backend]}_BACKCHANNEL_LOGOUT_URL`, `${request.issuer}${EVENT_PATHS.logout}`],
    [`${PREFIXES[backend]}_EVENTS_URL`, `${request.issuer}${EVENT_PATHS.events}`],
    [`${PREFIXES[backend]}_TOKEN_REVOCATION_URL`, `${request.issuer}${EVENT_PATHS.revocation}`],
  ]);
  return {
    ...Object.fromEntries([...urls, ...eventUrls]),
    SOCIAL_AUTH_SAML_METADATA_URL: `${request.issuer}/sso/metadata/saml/`,
    AUTHENTICATION_BACKENDS: [
      ...backends.map(({ backend }) => backend),
      ...(DISABLE_LOCAL_AUTH ? [] : ['local']),
    ],
  };
}

function writable(exchange: Exchange): readonly SettingDefinition[] {
  const definitions = categoryDefinitions(exchange);
  if (!exchange.caller.user.is_superuser) throw forbidden();
  return definitions;
}

async function change(exchange: Exchange, replace: boolean): Promise<unknown> {
  const definitions = writable(exchange);
  const body = await importIdps(jsonObject(exchange.request));
  const ignored = refuseUnknown(body, definitions);
  await changeSettings(exchange, { definitions, body, replace });
  if (ignored.length > 0) {
    // The controller ignores them silently.
    exchange.reply.header('X-API-Ignored-Settings', ignored.join(', '));
    exchange.request.log.warn({ ignored }, 'unknown settings were ignored');
  }
  return read(exchange);
}

const IDPS = 'SOCIAL_AUTH_SAML_ENABLED_IDPS';

async function importIdps(body: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  if (body[IDPS] === undefined) return { ...body };
  const idps = await withFetchedMetadata(body[IDPS]).catch((error: unknown) => {
    throw invalid({
      [IDPS]: [error instanceof Error ? error.message : 'The metadata could not be fetched.'],
    });
  });
  return { ...body, [IDPS]: idps };
}

/**
 * Refuses settings of single sign-on that do not exist, or not in this category: otherwise logins would not behave as
 * configured.
 * @returns The names of other unknown settings, which are ignored as on the controller; at most ten, and printable.
 * @throws RequestFailure 400 by key.
 */
function refuseUnknown(body: Readonly<Record<string, unknown>>, definitions: readonly SettingDefinition[]) {
  const unknown = Object.keys(body).filter((name) => !definitions.some(({ key }) => key === name));
  const problems = unknown
    .filter((name) => name.startsWith('SOCIAL_AUTH_'))
    .map((name) => {
      const elsewhere = ALL_DEFINITIONS.find(({ key }) => key === name);
      const where = elsewhere === undefined ? '' : ` It is in /api/v2/settings/${elsewhere.category}/.`;
      return [
        name,
        [elsewhere === undefined ? 'Unknown setting.' : `Not a setting of this category.${where}`],
      ];
    });
  if (problems.length > 0) throw invalid(Object.fromEntries(problems) as Record<string, string[]>);
  return unknown.map((name) => name.replace(/[^\w-]+/g, '?').slice(0, 100)).slice(0, 10);
}

async function reset(exchange: Exchange): Promise<undefined> {
  await resetSettings(exchange, writable(exchange));
}

/** The response to OPTIONS: how each setting is presented and, for a superuser, how it is written. */
function describeSettings(
  definitions: readonly SettingDefinition[],
  { caller, fixed }: { caller: Caller; fixed: ReadonlyMap<string, unknown> },
): Record<string, unknown> {
  const entries = (list: readonly SettingDefinition[], writing: boolean) =>
    Object.fromEntries(
      list.map((definition) => [
        definition.key,
        {
          ...describeSetting(definition, writing),
          ...(!writing && { defined_in_file: fixed.has(definition.key) }),
        },
      ]),
    );
  const writable = definitions.filter(({ key, readOnly }) => readOnly !== true && !fixed.has(key));
  const mayWrite = caller.mayWrite && caller.user.is_superuser;
  return { GET: entries(definitions, false), ...(mayWrite && { PUT: entries(writable, true) }) };
}

function describeSetting(definition: SettingDefinition, writing: boolean): Record<string, unknown> {
  const { type, label, helpText, warningText, minimum, maximum, unit, category } = definition;
  const integer = type === 'integer';
  return {
    type,
    ...(writing && { required: definition.required === true }),
    hidden: false,
    label,
    help_text: helpText,
    ...(warningText !== undefined && { warning_text: warningText }),
    ...(integer && minimum !== undefined && { min_value: minimum }),
    ...(integer && maximum !== undefined && { max_value: maximum }),
    category: CATEGORY_NAMES[category],
    category_slug: category,
    ...(unit !== undefined && { unit }),
    ...(writing && definition.placeholder !== undefined && { placeholder: definition.placeholder }),
    ...(writing && { default: definition.defaultValue }),
    ...child(definition, writing),
  };
}

/** The element type of an object or list, if it is known. */
function child(definition: SettingDefinition, writing: boolean): Record<string, unknown> {
  const { type, minimum } = definition;
  const written = writing ? { required: true, hidden: false, read_only: false } : { hidden: false };
  if (definition.child === 'map') {
    const value = { type: 'field', required: true, hidden: false, read_only: false };
    return { child: { type: 'nested object', ...written, child: value } };
  }
  if (type === 'nested object' && minimum !== undefined) {
    return { child: { type: 'integer', ...written, min_value: minimum } };
  }
  return type === 'list' ? { child: { type: 'string', ...written } } : {};
}
