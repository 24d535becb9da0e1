import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import type { Exchange } from '../endpoint.ts';
import { declared, type Field, type FieldSet, inWords, type Relation } from '../listing/fields.ts';
import { type Activity, insertActivity } from '../store/activity.ts';
import type { Makers, ResourceValues } from '../store/resources.ts';

/** Shown instead of a token or a client secret. */
export const MASK = '************';

/** The first fields of every resource. `name` is used in sentences, and `summary` describes `summary_fields`. */
export function leadingFields(resource: {
  type: string;
  name: string;
  alias: string;
  summary: string;
}): FieldSet['fields'] {
  const { type, name, alias, summary } = resource;
  return declared(alias, {
    id: { type: 'integer', label: 'ID', helpText: `Database ID of this ${name}.` },
    type: {
      type: 'choice',
      helpText: 'Type of this resource.',
      choices: [[type, inWords(name)]],
      column: null,
    },
    url: { helpText: `URL of this ${name}.`, column: null },
    related: { type: 'object', helpText: 'URLs of related resources.', column: null },
    summary_fields: { type: 'object', helpText: summary, column: null },
    created: { type: 'datetime', helpText: `When this ${name} was created.` },
    modified: { type: 'datetime', helpText: `When this ${name} was last changed.` },
  });
}

/** The name and description of a resource, in the table `x`. They follow the {@link leadingFields}. */
export function nameAndDescription(name: string, more: Pick<Field, 'check'> = {}): FieldSet['fields'] {
  return declared('x', {
    name: { helpText: `Name of this ${name}.`, writable: 'change', required: true, maxLength: 512, ...more },
    description: { helpText: `Optional description of this ${name}.`, writable: 'change', defaultValue: '' },
  });
}

/**
 * The fields and relations of a kind of named resource: the common ones and further ones.
 * @param about Its name in a sentence and the content of its summary, if they do not follow from the type.
 */
export function fields(
  type: string,
  further: FieldSet['fields'],
  relations: FieldSet['relations'] = { organization: namedRelation('o') },
  about: { readonly name?: string; readonly summary?: string } = {},
): FieldSet {
  const { name = type, summary = `Related resources, and your permissions on the ${name}.` } = about;
  return {
    type,
    fields: {
      ...leadingFields({ type, name, alias: 'x', summary }),
      ...nameAndDescription(name),
      ...further,
    },
    relations,
    searchFields: ['name', 'description'],
    order: ['name'],
  };
}

/** A relation to a resource with a name and a description. `alias` is its table's. */
export function namedRelation(alias: string): Relation {
  return {
    searchFields: ['name', 'description'],
    fields: declared(alias, { id: { type: 'integer', label: 'ID' }, name: {}, description: {} }),
  };
}

/** A relation to a user. `alias` is its table's. */
export function userRelation(alias: string): Relation {
  return {
    searchFields: ['username', 'first_name', 'last_name'],
    fields: declared(alias, {
      id: { type: 'integer', label: 'ID' },
      username: {},
      first_name: {},
      last_name: {},
      password: { secret: true },
    }),
  };
}

const LDAP_DN = sql`COALESCE((SELECT p.ldap_dn FROM main_profile p WHERE p.user_id = u.id), '')`;

/** The relation to the controller's profile of a user `u`. */
export const PROFILE_RELATION: Relation = {
  searchFields: [],
  fields: declared('u', { ldap_dn: { label: 'LDAP DN', column: LDAP_DN } }),
};

/** A user as shown in summaries of other resources. `prefix` is the start of the column names. */
export function personOf(row: object, prefix: string): ResourceValues {
  const columns = row as ResourceValues;
  const names = ['id', 'username', 'first_name', 'last_name'];
  return Object.fromEntries(names.map((name) => [name, columns[`${prefix}_${name}`]]));
}

/** The addresses and summaries of the users who created and last changed a record. */
export function makersJson(record: Makers): {
  readonly related: ResourceValues;
  readonly summary: ResourceValues;
} {
  const known = (['created_by', 'modified_by'] as const).filter((role) => record[`${role}_id`] !== null);
  return {
    related: Object.fromEntries(known.map((role) => [role, `/api/v2/users/${record[`${role}_id`]}/`])),
    summary: Object.fromEntries(known.map((role) => [role, personOf(record, role)])),
  };
}

/** Adds an activity stream entry about a change by the caller, in its transaction. By default the time is now. */
export function logChange(
  exchange: Exchange,
  transaction: Queryable,
  entry: Omit<Activity, 'at' | 'actorId' | 'node'> & { readonly at?: Date },
): Promise<void> {
  return insertActivity(transaction, { ...byCaller(exchange), ...entry });
}

/** Who changes something now, for entries of the activity stream. */
export function byCaller({ service, caller }: Exchange) {
  return { actorId: caller.user.id, at: service.now(), node: service.node };
}

/** The values that differ, each as [before, after]. */
export function changedValues<Name extends string>(
  names: readonly Name[],
  before: Readonly<Record<Name, unknown>>,
  after: Readonly<Record<Name, unknown>>,
): Record<string, readonly [unknown, unknown]> {
  const changed = names.filter((name) => before[name] !== after[name]);
  return Object.fromEntries(changed.map((name) => [name, [before[name], after[name]] as const]));
}
