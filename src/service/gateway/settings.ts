import type { FastifyInstance } from 'fastify';
import type { Queryable } from '../../db/database.ts';
import { seesEverything } from '../access.ts';
import { jsonObject } from '../body.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, invalid, notFound } from '../failure.ts';
import { insertActivity } from '../store/activity.ts';
import { lockPreferences, readPreferences, writePreference } from '../store/preferences.ts';
import { API } from './related.ts';
import { GATEWAY_SETTINGS, type GatewaySetting, SECTIONS } from './setting-definitions.ts';
import { checkValue, rawValue, type SettingValue, settingValue } from './setting-value.ts';

/** `/api/gateway/v1/settings/` and `/api/gateway/v1/settings/<section>/`. */
export function serveGatewaySettings(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: `${API}settings/`,
    name: 'Setting sections',
    description: 'The groups of settings.',
    forbidsStrangers: true,
    handlers: { GET: listSections },
  });
  serveEndpoint(app, service, {
    path: `${API}settings/:section(^[a-z0-9_]+$)/`,
    name: 'Setting section',
    description:
      'One group of settings, or all. PUT changes those that it names; DELETE brings the defaults back.',
    forbidsStrangers: true,
    handlers: { GET: read, PUT: change, DELETE: reset },
    describe,
  });
}

function listSections({ caller }: Exchange): Promise<unknown> {
  if (!seesEverything(caller.user)) throw forbidden();
  const results = SECTIONS.map((name) => ({ url: `${API}settings/${name}/`, name }));
  return Promise.resolve({ count: results.length, next: null, previous: null, results });
}

/** The settings of the path's section. Superusers and auditors read them, superusers write them. */
function named({ caller, params }: Exchange, writing = false): readonly GatewaySetting[] {
  if (!seesEverything(caller.user) || (writing && !caller.user.is_superuser)) throw forbidden();
  const { section } = params;
  if (!SECTIONS.some((name) => name === section)) throw notFound();
  return GATEWAY_SETTINGS.filter((setting) => section === 'all' || setting.section === section);
}

async function valuesOf(
  database: Queryable,
  settings: readonly GatewaySetting[],
): Promise<ReadonlyMap<GatewaySetting, SettingValue>> {
  const rows = await readPreferences(database);
  const raw = new Map(rows.map((row) => [`${row.section}/${row.name}`, row.raw_value]));
  return new Map(
    settings.map((setting) => [
      setting,
      settingValue(setting, raw.get(`${setting.section}/${setting.name}`)),
    ]),
  );
}

async function read(exchange: Exchange): Promise<Record<string, unknown>> {
  const values = await valuesOf(exchange.service.database, named(exchange));
  return Object.fromEntries([...values].map(([{ name }, value]) => [name, value]));
}

/** Writes what the body names, all or none. */
async function change(exchange: Exchange): Promise<unknown> {
  const settings = named(exchange, true);
  const body = jsonObject(exchange.request);
  await exchange.service.database.transaction(async (transaction) => {
    await lockPreferences(transaction);
    const current = await valuesOf(transaction, settings);
    await write(exchange, transaction, { current, wanted: wantedBy(body, current, exchange) });
  });
  return read(exchange);
}

function wantedBy(
  body: Readonly<Record<string, unknown>>,
  current: ReadonlyMap<GatewaySetting, SettingValue>,
  { params }: Exchange,
): ReadonlyMap<GatewaySetting, SettingValue> {
  const problems: Record<string, string> = {};
  const wanted = new Map<GatewaySetting, SettingValue>();
  const known = new Map([...current].map(([setting, value]) => [setting.name, { setting, value }]));
  for (const [name, given] of Object.entries(body)) {
    const found = known.get(name);
    const checked =
      found === undefined
        ? { problem: `Invalid key for category ${params['section']}` }
        : checkValue(found.setting, given, found.value);
    if ('problem' in checked) problems[name] = checked.problem;
    else if (found !== undefined) wanted.set(found.setting, checked.value);
  }
  if (Object.keys(problems).length > 0) throw invalid(problems);
  return wanted;
}

async function reset(exchange: Exchange): Promise<unknown> {
  const settings = named(exchange, true);
  const kept = settings.filter(({ readOnly }) => readOnly);
  const reverted = await exchange.service.database.transaction(async (transaction) => {
    await lockPreferences(transaction);
    const current = await valuesOf(transaction, settings);
    const wanted = new Map(
      [...current].flatMap(([setting, value]) =>
        setting.readOnly || value === setting.defaultValue ? [] : [[setting, setting.defaultValue] as const],
      ),
    );
    await write(exchange, transaction, { current, wanted });
    return wanted;
  });
  return {
    unchanged: Object.fromEntries(kept.map(({ name }) => [name, 'read_only'])),
    reverted: Object.fromEntries([...reverted].map(([{ name }, value]) => [name, value])),
  };
}

/** Writes what differs, each with its entry in the activity stream. */
async function write(
  { service, caller }: Exchange,
  transaction: Queryable,
  change: {
    readonly current: ReadonlyMap<GatewaySetting, SettingValue>;
    readonly wanted: ReadonlyMap<GatewaySetting, SettingValue>;
  },
): Promise<void> {
  for (const [setting, value] of change.wanted) {
    const before = change.current.get(setting);
    if (before === value || before === undefined) continue;
    const { section, name } = setting;
    await writePreference(transaction, { section, name, raw_value: rawValue(value) });
    await insertActivity(transaction, {
      operation: 'update',
      at: service.now(),
      changes: { raw_value: [rawValue(before), rawValue(value)] },
      object1: 'setting',
      actorId: caller.user.id,
      node: service.node,
      setting: { name, category: section },
    });
  }
}

/** What OPTIONS says of the settings, and to a superuser how each is written. */
function describe(exchange: Exchange): Record<string, unknown> {
  const settings = named(exchange);
  const { user, mayWrite } = exchange.caller;
  const described = Object.fromEntries(
    settings.map((setting) => [
      setting.name,
      {
        type: setting.type,
        required: false,
        read_only: setting.readOnly === true,
        label: setting.label,
        help_text: setting.helpText,
        ...(setting.minimum !== undefined && { min_value: setting.minimum }),
        ...(setting.maximum !== undefined && { max_value: setting.maximum }),
        default: setting.defaultValue,
      },
    ]),
  );
  return { GET: described, ...(mayWrite && user.is_superuser && { PUT: described }) };
}
