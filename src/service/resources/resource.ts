import type { Queryable } from '../../db/database.ts';
import type { Exchange } from '../endpoint.ts';
import { declared, type Field, type FieldSet, inWords, type Relation } from '../listing/fields.ts';
import { type Activity, insertActivity } from '../store/activity.ts';
import type { Makers } from '../store/resources.ts';

/** What the API shows in place of a token or a client secret. */
export const MASK = '************';

/**
 * The fields that every resource begins with; a resource overrides those that differ.
 *
 * @param resource Its type in the API, its name in a sentence, its table's alias in SQL, and what its summary
 * holds.
 */
export function leadingFields(resource: {
  readonly type: string;
  readonly name: string;
  readonly alias: string;
  readonly summary: string;
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

/** The name and the description of a resource, in the table `x`, after its {@link leadingFields}. */
export function nameAndDescription(name: string, more: Pick<Field, 'check'> = {}): FieldSet['fields'] {
  return declared('x', {
    name: {
      helpText: `Name of this ${name}.`,
      writable: 'change',
      required: true,
      maxLength: 512,
      ...more,
    },
    description: {
      helpText: `Optional description of this ${name}.`,
      writable: 'change',
      defaultValue: '',
    },
  });
}

/** A relation to a resource with a name and a description, in the table of this alias. */
export function namedRelation(alias: string): Relation {
  return {
    searchFields: ['name', 'description'],
    fields: declared(alias, { id: { type: 'integer', label: 'ID' }, name: {}, description: {} }),
  };
}

/** A relation to a user, in the table of this alias. */
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

/** A relation to what the controller keeps of a user beside the account, by the alias of the user's table. */
export function profileRelation(alias: string): Relation {
  const column = `COALESCE((SELECT p.ldap_dn FROM main_profile p WHERE p.user_id = ${alias}.id), '')`;
  return { searchFields: [], fields: declared(alias, { ldap_dn: { label: 'LDAP DN', column } }) };
}

/** The addresses and the summaries of the users who created and last changed a record. */
export function makersJson(record: Makers): {
  readonly related: Readonly<Record<string, string>>;
  readonly summary: Readonly<Record<string, unknown>>;
} {
  const known = (['created_by', 'modified_by'] as const).filter((role) => record[`${role}_id`] !== null);
  return {
    related: Object.fromEntries(known.map((role) => [role, `/api/v2/users/${record[`${role}_id`]}/`])),
    summary: Object.fromEntries(
      known.map((role) => [
        role,
        {
          id: record[`${role}_id`],
          username: record[`${role}_username`],
          first_name: record[`${role}_first_name`],
          last_name: record[`${role}_last_name`],
        },
      ]),
    ),
  };
}

/**
 * Adds an entry on a change by the caller to the activity stream, in the transaction of the change.
 *
 * @param entry What changed; `at` is now unless it is given.
 */
export function logChange(
  { service, caller }: Exchange,
  transaction: Queryable,
  entry: Omit<Activity, 'at' | 'actorId' | 'node'> & { readonly at?: Date },
): Promise<void> {
  return insertActivity(transaction, {
    at: service.now(),
    ...entry,
    actorId: caller.user.id,
    node: service.node,
  });
}

/** The values of these names that differ, each as [before, after]. */
export function changedValues<Name extends string>(
  names: readonly Name[],
  before: Readonly<Record<Name, unknown>>,
  after: Readonly<Record<Name, unknown>>,
): Record<string, readonly [unknown, unknown]> {
  const changed = names.filter((name) => before[name] !== after[name]);
  return Object.fromEntries(changed.map((name) => [name, [before[name], after[name]] as const]));
}
