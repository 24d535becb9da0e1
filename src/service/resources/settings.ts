import type { FastifyInstance } from 'fastify';
import { seesEverything } from '../access.ts';
import { jsonObject } from '../body.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, notFound } from '../failure.ts';
import { changeSettings, resetSettings } from '../settings/change.ts';
import { DEFINITIONS, type SettingDefinition } from '../settings/definitions.ts';
import { describeSettings } from '../settings/metadata.ts';
import { currentSettings } from '../settings/settings.ts';
import { readSettings } from '../store/settings.ts';

const CATEGORIES: Readonly<Record<string, string>> = {
  all: 'All',
  authentication: 'Authentication',
  changed: 'Changed',
  system: 'System',
};

/** `/api/v2/settings/` and `/api/v2/settings/<category>/`. */
export function serveSettings(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/settings/',
    name: 'Setting categories',
    description: 'The groups of settings that you may see.',
    handlers: { GET: (exchange) => listCategories(exchange) },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/settings/:category(^[a-z-]+$)/',
    name: 'Settings',
    description: 'One group of settings. DELETE sets all of it back to the defaults.',
    handlers: {
      GET: read,
      PUT: (exchange) => change(exchange, true),
      PATCH: (exchange) => change(exchange, false),
      DELETE: reset,
    },
    describe: (exchange) => describeSettings(categoryDefinitions(exchange), exchange.caller),
  });
}

function listCategories({ caller }: Exchange): Promise<unknown> {
  const visible = seesEverything(caller.user) ? Object.entries(CATEGORIES) : [];
  const results = visible.map(([slug, name]) => ({ url: `/api/v2/settings/${slug}/`, slug, name }));
  return Promise.resolve({ count: results.length, next: null, previous: null, results });
}

/** The settings of the path's category. Superusers and auditors read, the others get 403. */
function categoryDefinitions({ caller, params }: Exchange): readonly SettingDefinition[] {
  const { category = '' } = params;
  if (!seesEverything(caller.user)) throw forbidden();
  if (!Object.hasOwn(CATEGORIES, category)) throw notFound();
  if (category === 'all' || category === 'changed') return DEFINITIONS;
  return DEFINITIONS.filter((definition) => definition.category === category);
}

async function read(exchange: Exchange): Promise<unknown> {
  const definitions = categoryDefinitions(exchange);
  const { database } = exchange.service;
  const settings: Readonly<Record<string, unknown>> = { ...(await currentSettings(database)) };
  const stored = exchange.params['category'] === 'changed' ? await readSettings(database) : null;
  const keys = stored === null ? definitions.map(({ key }) => key) : [...stored.keys()];
  return Object.fromEntries(
    keys.filter((key) => Object.hasOwn(settings, key)).map((key) => [key, settings[key]]),
  );
}

function writable(exchange: Exchange): readonly SettingDefinition[] {
  const definitions = categoryDefinitions(exchange);
  if (!exchange.caller.user.is_superuser) throw forbidden();
  return definitions;
}

async function change(exchange: Exchange, replace: boolean): Promise<unknown> {
  const definitions = writable(exchange);
  await changeSettings(exchange, { definitions, body: jsonObject(exchange.request), replace });
  return read(exchange);
}

async function reset(exchange: Exchange): Promise<undefined> {
  await resetSettings(exchange, writable(exchange));
}
