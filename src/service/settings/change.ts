import type { Queryable } from '../../db/database.ts';
import type { Exchange } from '../endpoint.ts';
import { invalid } from '../failure.ts';
import { insertActivity } from '../store/activity.ts';
import { deleteSettings, lockSettings, writeSetting } from '../store/settings.ts';
import type { SettingDefinition } from './definitions.ts';
import { currentSettings } from './settings.ts';
import { checkSetting, type SettingProblem } from './validation.ts';

/** What a request wants of settings. */
interface WantedSettings {
  readonly definitions: readonly SettingDefinition[];
  readonly body: Readonly<Record<string, unknown>>;
  /** Whether what is required must be there (PUT). */
  readonly replace: boolean;
}

/**
 * Writes the settings that a body names, all or none, each with its entry in the activity stream. What it
 * does not name stays; unknown and read-only keys are ignored, as on the controller.
 *
 * @throws RequestFailure 400 by key.
 */
export function changeSettings(exchange: Exchange, change: WantedSettings): Promise<void> {
  return exchange.service.database.transaction(async (transaction) => {
    // One at a time: a value may be merged with what is there.
    await lockSettings(transaction);
    await store(exchange, transaction, await checkedValues(transaction, change));
  });
}

async function checkedValues(
  transaction: Queryable,
  change: WantedSettings,
): Promise<ReadonlyMap<string, unknown>> {
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
    const checked = checkSetting(definition, given, current[key]);
    if ('problem' in checked) problems[key] = checked.problem;
    else values.set(key, checked.value);
  }
  if (Object.keys(problems).length > 0) throw invalid(problems);
  if (values.get('DISABLE_LOCAL_AUTH') === true) {
    throw invalid({
      __all__: [
        'Local accounts cannot be turned off: no identity provider is configured, and nobody could log in.',
      ],
    });
  }
  return values;
}

async function store(
  exchange: Exchange,
  transaction: Queryable,
  values: ReadonlyMap<string, unknown>,
): Promise<void> {
  const at = exchange.service.now();
  for (const [key, value] of values) {
    const { id, before } = await writeSetting(transaction, { key, value, at });
    const changes = before === undefined ? { value, id } : { value: [before, value] };
    await noteChange(exchange, transaction, {
      key,
      operation: before === undefined ? 'create' : 'update',
      changes,
    });
  }
}

/** Sets a group of settings back to the defaults. */
export async function resetSettings(
  exchange: Exchange,
  definitions: readonly SettingDefinition[],
): Promise<void> {
  const keys = definitions.filter(({ readOnly }) => readOnly !== true).map(({ key }) => key);
  await exchange.service.database.transaction(async (transaction) => {
    for (const { id, key, value } of await deleteSettings(transaction, keys)) {
      await noteChange(exchange, transaction, { key, operation: 'delete', changes: { value, id } });
    }
  });
}

function noteChange(
  { service, caller }: Exchange,
  transaction: Queryable,
  change: {
    readonly key: string;
    readonly operation: 'create' | 'update' | 'delete';
    readonly changes: Readonly<Record<string, unknown>>;
  },
): Promise<void> {
  return insertActivity(transaction, {
    operation: change.operation,
    at: service.now(),
    changes: change.changes,
    object1: 'setting',
    actorId: caller.user.id,
    node: service.node,
    setting: { name: change.key, category: 'authentication' },
  });
}
