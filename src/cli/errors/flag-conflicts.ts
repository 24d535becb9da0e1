/** What flags ask of each other, as the command framework keeps it. */
export type FlagRules = Readonly<
  Record<
    string,
    {
      readonly required?: boolean | undefined;
      readonly dependsOn?: readonly unknown[] | undefined;
      readonly exclusive?: readonly unknown[] | undefined;
    }
  >
>;

/**
 * What is wrong with flags as a whole: required ones that are missing, and those that need or exclude
 * each other. Phrases that name flags only: a flag's value may be a secret.
 *
 * @param given the values by flag; undefined for a flag that was not given
 */
export function flagConflicts(rules: FlagRules, given: Readonly<Record<string, unknown>>): string[] {
  const isGiven = (name: string) => given[name] !== undefined;
  const conflicts = Object.entries(rules).flatMap(([name, { required, dependsOn, exclusive }]) => {
    if (!isGiven(name)) return required === true ? [`--${name} is missing`] : [];
    return [
      ...names(dependsOn)
        .filter((other) => !isGiven(other))
        .map((other) => `--${name} needs --${other} beside it`),
      ...names(exclusive)
        .filter(isGiven)
        .map((other) => `${[`--${name}`, `--${other}`].sort().join(' and ')} cannot be used together`),
    ];
  });
  return [...new Set(conflicts)];
}

function names(flags: readonly unknown[] = []): string[] {
  return flags.filter((flag) => typeof flag === 'string');
}
