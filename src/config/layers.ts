/** Values of one origin, before they are merged and checked. */
export interface Layer {
  readonly values: RawSettings;
  /** Says in words where the value at this path comes from: `tokenctl.yaml:7`, a variable, a flag. */
  locate(path: readonly PropertyKey[]): string;
}

/** Settings as an origin gives them: sections of unchecked values. */
export interface RawSettings {
  readonly [section: string]: unknown;
}

/** Whether a value is a mapping, as opposed to a scalar, a list or nothing. */
export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Merges layers, the later over the earlier. Sections merge key by key; what stands under a key is
 * replaced as a whole. So a context is always of one origin: a credential from the environment never
 * travels to an address from a file.
 */
export function mergeLayers(layers: readonly Layer[]): RawSettings {
  const merged: Record<string, unknown> = {};
  for (const { values } of layers) {
    for (const [section, value] of Object.entries(values)) {
      const before = merged[section];
      merged[section] = isMapping(before) && isMapping(value) ? { ...before, ...value } : value;
    }
  }
  return merged;
}
