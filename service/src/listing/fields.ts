import { identifier, type Sql } from '@tokenctl/common/db/sql.ts';

/** The maximum of an int4 column, and so of an id. */
export const MAX_INTEGER = 2_147_483_647;

/** A field of a resource: how it is shown, filtered and written. */
export interface Field {
  readonly type:
    | 'integer'
    | 'string'
    | 'datetime'
    | 'boolean'
    | 'id'
    | 'choice'
    | 'object'
    // A mapping in YAML or JSON, stored as text.
    | 'json'
    | 'field'
    | 'list';
  readonly label: string;
  readonly helpText?: string;
  /** The constant SQL expression to filter and sort by. Without one, the field is not filterable. */
  readonly column?: Sql;
  /** Filterable, but not listed as filterable (as the controller does for refresh_token). */
  readonly unannounced?: true;
  /** Filtering by it would reveal it: 403. */
  readonly secret?: true;
  /** Filterable, but not part of the response. */
  readonly hidden?: true;
  /** Writable in POST only (`create`), or in POST and PUT (`change`). */
  readonly writable?: 'create' | 'change';
  readonly required?: true;
  /** A PUT without it keeps its value, even if it is required. */
  readonly keptByPut?: true;
  readonly defaultValue?: unknown;
  readonly maxLength?: number;
  /** Whether a text may be blank. By default it may if the field is not required. */
  readonly blank?: boolean;
  /** False if null is refused. Otherwise null becomes a blank text or false. */
  readonly nullable?: false;
  /** The minimum of an integer; 0 by default. */
  readonly min?: number;
  /** The maximum of an integer; the column's maximum by default. */
  readonly max?: number;
  /** The only accepted value: the service does not support the field. `does` completes "This service does not …". */
  readonly fixed?: { readonly value: unknown; readonly does: string };
  /** The constant value of a read-only field. */
  readonly constant?: { readonly value: unknown };
  /** Why a non-blank text is refused, or null. */
  readonly check?: (text: string) => string | null;
  readonly choices?: readonly (readonly [string | number, string])[];
}

/** A related resource, for `relation__field` and `relation__search`, with its own relations. */
export interface Relation {
  /** For a relation to many objects: their rows, and which of them belong to a row of the list. */
  readonly many?: { readonly from: Sql; readonly on: Sql };
  readonly fields: Readonly<Record<string, Field>>;
  readonly searchFields: readonly string[];
  readonly relations?: Readonly<Record<string, Relation>>;
}

export interface FieldSet {
  readonly type: string;
  readonly fields: Readonly<Record<string, Field>>;
  readonly relations: Readonly<Record<string, Relation>>;
  /** The fields for `search=`. */
  readonly searchFields: readonly string[];
  /** The default of `order_by`: field names, `-` for descending. */
  readonly order: readonly string[];
}

/** A field as a resource declares it. What follows from its name is omitted; a column of null means none. */
export type Declared = Partial<Omit<Field, 'column'>> & { readonly column?: Sql | null };

/** The fields of an alias's rows in SQL. By default: type text, the name in words as label, the name as column. */
export function declared(
  alias: string,
  fields: Readonly<Record<string, Declared>>,
): Readonly<Record<string, Field>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, { column, ...field }]) => {
      const own =
        column === undefined ? identifier(`${alias}.${name}${field.type === 'id' ? '_id' : ''}`) : column;
      return [
        name,
        { type: 'string', label: inWords(name), ...field, ...(own !== null && { column: own }) },
      ] as const;
    }),
  );
}

/** A name as a label: `Last name` of `last_name`. */
export function inWords(name: string): string {
  return name.replaceAll('_', ' ').replace(/^./, (first) => first.toUpperCase());
}
