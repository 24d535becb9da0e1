import type { Deed } from '../../domain/investigation/deed.ts';
import type { Evidence } from '../ports/evidence.ts';

/**
 * The names of settings by the ids of their rows. A controller 24.6.1 creates a row when a setting is set and
 * deletes it on a reset; only the entry of the reset has no name [seen].
 */
export class SettingNames {
  readonly #evidence: Evidence;
  #names: Promise<ReadonlyMap<number, string>> | null = null;

  constructor(evidence: Evidence) {
    this.#evidence = evidence;
  }

  /** An action with the name of its setting. Reads the entries about settings once, if a name is missing. */
  async named(deed: Deed): Promise<Deed> {
    const { object } = deed;
    if (object.kind !== 'setting' || object.name !== null || object.id === null) return deed;
    this.#names ??= readNames(this.#evidence);
    const name = (await this.#names).get(object.id) ?? null;
    return { ...deed, object: { ...object, name } };
  }
}

async function readNames(evidence: Evidence): Promise<ReadonlyMap<number, string>> {
  const names = new Map<number, string>();
  for await (const { changes, setting } of evidence.settingEntries(0)) {
    const { id } = changes;
    if (typeof id === 'number' && setting !== null) names.set(id, setting);
  }
  return names;
}
