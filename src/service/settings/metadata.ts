import type { Caller } from '../auth/authenticate.ts';
import type { SettingDefinition } from './definitions.ts';

/** What OPTIONS says of settings: how each is presented, and to a superuser how it is written. */
export function describeSettings(
  definitions: readonly SettingDefinition[],
  caller: Caller,
): Record<string, unknown> {
  const entries = (list: readonly SettingDefinition[], writing: boolean) =>
    Object.fromEntries(list.map((definition) => [definition.key, describeSetting(definition, writing)]));
  const writable = definitions.filter(({ readOnly }) => readOnly !== true);
  const mayWrite = caller.mayWrite && caller.user.is_superuser;
  return {
    GET: entries(definitions, false),
    ...(mayWrite && { PUT: entries(writable, true) }),
  };
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
    category: category === 'authentication' ? 'Authentication' : 'System',
    category_slug: category,
    ...(!writing && { defined_in_file: false }),
    ...(unit !== undefined && { unit }),
    ...(writing && { default: definition.defaultValue }),
    ...child(definition, writing),
  };
}

/** What an object or a list is made of, where that is known. */
function child(definition: SettingDefinition, writing: boolean): Record<string, unknown> {
  const { type, minimum } = definition;
  if (type === 'nested object' && minimum !== undefined) {
    const asked = writing ? { required: true, hidden: false, read_only: false } : { hidden: false };
    return { child: { type: 'integer', ...asked, min_value: minimum } };
  }
  return type === 'list' ? { child: { type: 'string', hidden: false } } : {};
}
