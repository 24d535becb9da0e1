import type { Caller } from '../auth/authenticate.ts';
import type { SettingCategory, SettingDefinition } from './definitions.ts';

/** What the categories of settings are called. */
export const CATEGORY_NAMES: Readonly<Record<SettingCategory, string>> = {
  authentication: 'Authentication',
  'azuread-oauth2': 'Azure AD OAuth2',
  github: 'GitHub OAuth2',
  'google-oauth2': 'Google OAuth2',
  saml: 'SAML',
  system: 'System',
};

/** What OPTIONS says of settings: how each is presented, and to a superuser how it is written. */
export function describeSettings(
  definitions: readonly SettingDefinition[],
  { caller, fixed }: { readonly caller: Caller; readonly fixed: ReadonlyMap<string, unknown> },
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
    category: CATEGORY_NAMES[category],
    category_slug: category,
    ...(unit !== undefined && { unit }),
    ...(writing && definition.placeholder !== undefined && { placeholder: definition.placeholder }),
    ...(writing && { default: definition.defaultValue }),
    ...child(definition, writing),
  };
}

/** What an object or a list is made of, where that is known. */
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
