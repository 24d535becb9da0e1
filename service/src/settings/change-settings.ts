import { isDeepStrictEqual } from 'node:util';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import type { ServiceContext } from '../context.ts';
import type { Exchange } from '../endpoint.ts';
import { invalid } from '../failure.ts';
import { type Activity, insertActivity } from '../store/activity.ts';
import { endLocalCredentials } from '../store/issued-tokens.ts';
import { deleteSettings, lockSettings, writeSetting } from '../store/settings.ts';
import { type Checked, checkSetting, type SettingDefinition, type SettingProblem } from './checks.ts';
import { requireKeyPair, requireSuperuserLogin, withoutSuperuserLogin } from './remaining-login.ts';
import { MASK } from './secrets.ts';
import { ALL_DEFINITIONS, currentSettings, shown } from './settings.ts';

interface WantedSettings {
  readonly definitions: readonly SettingDefinition[];
  readonly body: Readonly<Record<string, unknown>>;
  /** Whether required settings must be given, as in a PUT. */
  readonly replace: boolean;
}

/**
 * Writes the settings in a request body, all or none, each with an entry in the activity stream. Other
 * settings are unchanged. Unknown and read-only keys are ignored, as on the controller.
 * @throws RequestFailure 400 by key.
 */
export function changeSettings(exchange: Exchange, change: WantedSettings): Promise<void> {
  return exchange.service.database.transaction(async (transaction) => {
    // The lock serializes changes, because a value may be merged with the stored one.
    await lockSettings(transaction);
    const { service } = exchange;
    const values = await checkedValues(service, transaction, change);
    await store(exchange, transaction, values);
    if ([...values.keys()].some((key) => key.startsWith('SOCIAL_AUTH_SAML_SP_'))) {
      await requireKeyPair(service, transaction);
    }
    if (values.get('DISABLE_LOCAL_AUTH') === true) {
      const why = await withoutSuperuserLogin(service, transaction);
      if (why !== null) throw invalid({ __all__: [`Cannot disable local accounts: ${why}.`] });
    }
    if ([...values.keys()].some(isSsoSetting)) await requireSuperuserLogin(service, transaction);
    if (values.get('DISABLE_LOCAL_AUTH') === true) {
      await endLocalCredentials(transaction, { at: service.now(), node: service.node });
    }
  });
}

async function checkedValues(service: ServiceContext, transaction: Queryable, change: WantedSettings) {
  const { body, replace } = change;
  const definitions = change.definitions.filter(({ readOnly }) => readOnly !== true);
  const current: Readonly<Record<string, unknown>> = { ...(await currentSettings(transaction)) };
  const problems: Record<string, SettingProblem> = {};
  const values = new Map<string, unknown>();
  for (const definition of definitions) {
    const { key, required } = definition;
    const given = Object.hasOwn(body, key) ? body[key] : undefined;
    if (given === undefined) {
      if (replace && required) problems[key] = ['This field is required.'];
      continue;
    }
    if (definition.secret && given === MASK) continue;
    const checked = storable(service, definition, checkSetting(definition, given, current[key]));
    if ('problem' in checked) problems[key] = checked.problem;
    else if (!service.fixedSettings.has(key)) values.set(key, checked.value);
  }
  if (Object.keys(problems).length > 0) throw invalid(problems);
  return values;
}

/** Encrypts a secret value. Refuses to change a setting that the environment fixes. */
function storable(
  { fixedSettings, secrets }: ServiceContext,
  { key, secret }: SettingDefinition,
  checked: Checked,
): Checked {
  if ('problem' in checked) return checked;
  if (fixedSettings.has(key)) {
    return isDeepStrictEqual(fixedSettings.get(key), checked.value)
      ? checked
      : { problem: ["This setting is set in the service's environment."] };
  }
  if (!secret || checked.value === '') return checked;
  if (secrets.usable) return { value: secrets.seal(key, String(checked.value)) };
  return {
    problem: ['The service has no key to encrypt secrets. Start it with TOKENCTL_SERVICE_SECRET_KEY.'],
  };
}

async function store(exchange: Exchange, transaction: Queryable, values: ReadonlyMap<string, unknown>) {
  const at = exchange.service.now();
  for (const [key, value] of values) {
    const { id, before } = await writeSetting(transaction, { key, value, at });
    const definition = definitionOf(key);
    const [told, was] = [shown(definition, value), shown(definition, before)];
    const entry =
      before === undefined
        ? ({ operation: 'create', changes: { value: told, id } } as const)
        : ({ operation: 'update', changes: { value: [was, told] } } as const);
    await noteChange(exchange, transaction, { ...definition, ...entry });
  }
}

export async function resetSettings(
  exchange: Exchange,
  definitions: readonly SettingDefinition[],
): Promise<void> {
  const keys = definitions.filter(({ readOnly }) => readOnly !== true).map(({ key }) => key);
  await exchange.service.database.transaction(async (transaction) => {
    await lockSettings(transaction);
    for (const { id, key, value } of await deleteSettings(transaction, keys)) {
      const definition = definitionOf(key);
      const changes = { value: shown(definition, value), id };
      await noteChange(exchange, transaction, { ...definition, operation: 'delete', changes });
    }
    if (keys.some(isSsoSetting)) await requireSuperuserLogin(exchange.service, transaction);
  });
}

function isSsoSetting(key: string): boolean {
  return key.startsWith('SOCIAL_AUTH_');
}

function definitionOf(key: string): SettingDefinition {
  const definition = ALL_DEFINITIONS.find((each) => each.key === key);
  if (definition === undefined) throw new Error('a setting was written that has no definition');
  return definition;
}

function noteChange(
  { service, caller }: Exchange,
  transaction: Queryable,
  { operation, changes, key, category }: Pick<Activity, 'operation' | 'changes'> & SettingDefinition,
): Promise<void> {
  return insertActivity(transaction, {
    operation,
    at: service.now(),
    changes,
    object1: 'setting',
    actorId: caller.user.id,
    node: service.node,
    setting: { name: key, category },
  });
}
