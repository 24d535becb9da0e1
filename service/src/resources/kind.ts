import type { Queryable } from '@tokenctl/common/db/database.ts';
import { joined, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { Exchange } from '../endpoint.ts';
import type { FailureBody } from '../failure.ts';
import type { FieldSet } from '../listing/fields.ts';
import type { LinkedResource } from '../store/activity.ts';
import { type HeldRole, heldRoles, type ResourceWithRoles, type RoleName } from '../store/object-roles.ts';
import type { activeJobs, Makers, ResourceRow, ResourceValues, Storage } from '../store/resources.ts';
import type { UserRecord } from '../store/users.ts';
import type { Problems } from './field-values.ts';
import { namedSegment } from './request-values.ts';
import { leadingFields, makersJson } from './resource.ts';
import { objectRoles } from './role-texts.ts';

/** Determines who may change a resource. The id of a new one is 0. */
export type Owned = Pick<ResourceRow, 'id' | 'organization' | 'inventory'>;

export interface Wanted<R extends ResourceRow> {
  readonly body: ResourceValues;
  /** The new value of every writable field. */
  readonly values: ResourceValues;
  /** What the caller found wrong so far. More may be added. */
  readonly problems: Problems;
  /** The current resource, locked; null for a new one. */
  readonly before: R | null;
  readonly held: readonly HeldRole[];
  /** Values that only the response to this request shows, such as a new secret. */
  readonly once: Record<string, unknown>;
}

/** A kind of named resource: what its endpoints show, and who may see and change it, for {@link serveKind}. */
export interface Kind<R extends ResourceRow = ResourceRow> {
  readonly type: LinkedResource | 'organization' | 'o_auth2_application';
  readonly path: string;
  /** The singular in messages. */
  readonly label: string;
  /** The plural in the API. */
  readonly plural: string;
  /** Descriptions of the list endpoint and the detail endpoint. */
  readonly about?: { readonly list: string; readonly one: string };
  readonly storage: Storage;
  readonly fields: FieldSet;
  /** The parts of its named URL: columns, or a constant text. */
  readonly namedBy: readonly NamePart[];
  /** The error for a name that already exists. */
  readonly nameTaken: FailureBody;
  /** The column of a job with the resource that it uses, or with that resource's inventory. */
  readonly usedBy?: Parameters<typeof activeJobs>[1];
  /** `prepare` checks who may set which field, because it depends on more than the values. */
  readonly hasOwnRights?: true;
  /** The controller answers 202 to DELETE, and deletes later. */
  readonly deletedLater?: true;

  visible(user: UserRecord, held: readonly HeldRole[]): Sql;
  /** The rows on which a user has a role, for `role_level`. Without it, the rows have no roles. */
  withRole?(user: UserRecord, held: readonly HeldRole[], role: RoleName): Sql;
  /** More of `from`, for filters. */
  joined?(user: UserRecord, held: readonly HeldRole[]): Sql;
  mayChange(user: UserRecord, held: readonly HeldRole[], resource: Owned): boolean;
  /** Related addresses of the controller that are always empty here, each with what this service does not do. */
  readonly empty?: Readonly<Record<string, string>>;
  /** Further related addresses. `url` is the resource's address. */
  related?(url: string, resource: R): Readonly<Record<string, string>>;
  summary?(resource: R): Readonly<Record<string, unknown>>;
  capabilities?(user: UserRecord, held: readonly HeldRole[], resource: R): Readonly<Record<string, boolean>>;
  /** Further fields of each of these resources that the API shows, and that are not in the database. */
  shownToo?(
    exchange: Exchange,
    resources: readonly R[],
  ): Promise<readonly { readonly summary?: ResourceValues; readonly fields?: ResourceValues }[]>;
  /** Validates and completes the wanted values, in the request's transaction. Throws 400 by field, 403. */
  prepare?(exchange: Exchange, transaction: Queryable, wanted: Wanted<R>): Promise<ResourceValues>;
  /** Runs after a resource was created. */
  made?(exchange: Exchange, transaction: Queryable, made: R): Promise<void>;
  /** Runs after a resource was changed. */
  changed?(transaction: Queryable, before: R, after: R): Promise<void>;
  /** Further facts for the activity entry of a deletion. */
  deletedWith?(resource: R): ResourceValues;
  /** Runs before a resource is deleted. */
  removing?(exchange: Exchange, transaction: Queryable, resource: R): Promise<void>;
}

const NAMES = {
  name: sql`x.name`,
  organization_name: sql`COALESCE(o.name, '')`,
  inventory_name: sql`i.name`,
} as const;

type NamePart = keyof typeof NAMES | { readonly text: string };

function namedBy<R extends ResourceRow>(kind: Kind<R>, resource: R): string {
  const values = resource as unknown as Readonly<Record<string, string | null>>;
  return kind.namedBy
    .map((part) => (typeof part === 'string' ? namedSegment([values[part] ?? '']) : part.text))
    .join('++');
}

export function addresses(url: string, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, `${url}${name}/`]));
}

/** The resource that the names in a named URL select; null if they are invalid. Constant texts may be omitted. */
export function namedIn<R extends ResourceRow>(kind: Kind<R>, names: readonly string[]): Sql | null {
  const parts = kind.namedBy.filter((part) => typeof part === 'string');
  const place = kind.namedBy.findIndex((part) => typeof part !== 'string');
  const fixed = kind.namedBy[place];
  const isWhole = typeof fixed === 'object' && names[place] === fixed.text;
  const values = isWhole ? names.toSpliced(place, 1) : names;
  if (values.length !== parts.length) return null;
  const conditions = parts.map((part, index) => sql`${NAMES[part]} = ${values[index]}`);
  return joined(conditions, ' AND ');
}

/** Fields that name another resource, with its collection. */
const RELATED: Readonly<Record<string, string>> = {
  organization: 'organizations',
  inventory: 'inventories',
  project: 'projects',
};

const LEADING = new Set(Object.keys(leadingFields({ type: '', name: '', alias: 'x', summary: '' })));

/** Resources of a kind as the API shows them to the caller. */
export async function render<R extends ResourceRow>(
  exchange: Exchange,
  kind: Kind<R>,
  { resources, detail = false }: { resources: readonly R[]; detail?: boolean },
): Promise<Record<string, unknown>[]> {
  const { service, caller } = exchange;
  const { user, mayWrite } = caller;
  const held = await heldRoles(service.database, user);
  const shownToo = await kind.shownToo?.(exchange, resources);
  return resources.map((resource, index) => {
    const row = resource as unknown as Readonly<Record<string, unknown>>;
    const url = `${kind.path}${resource.id}/`;
    const may = mayWrite && kind.mayChange(user, held, resource);
    const further = Object.entries(kind.capabilities?.(user, held, resource) ?? {});
    const makers = kind.storage.hasMakers
      ? makersJson(row as unknown as Makers)
      : { related: {}, summary: {} };
    const others = relatedIn(kind, row);
    const too = shownToo?.[index];
    const { id, created, modified, roles } = resource;
    return {
      id,
      type: kind.type,
      url,
      related: {
        ...(detail && { named_url: `${kind.path}${namedBy(kind, resource)}/` }),
        ...makers.related,
        ...addresses(url, Object.keys(kind.empty ?? {})),
        ...kind.related?.(url, resource),
        ...(roles && { object_roles: `${url}object_roles/`, access_list: `${url}access_list/` }),
        ...Object.fromEntries(
          others.map(([name, other]) => [name, `/api/v2/${RELATED[name]}/${other['id']}/`]),
        ),
      },
      summary_fields: {
        ...Object.fromEntries(others),
        ...makers.summary,
        ...kind.summary?.(resource),
        ...(roles && { object_roles: objectRoles(kind.type as ResourceWithRoles, roles) }),
        user_capabilities: {
          edit: may,
          delete: may,
          ...Object.fromEntries(further.map(([name, can]) => [name, mayWrite && can])),
        },
        ...too?.summary,
      },
      created,
      modified,
      ...Object.fromEntries(
        shownFields(kind).map(([name, always]) => [name, always ? always.value : row[name]]),
      ),
      ...too?.fields,
    };
  });
}

/** The shown fields with their values or constant values. */
function shownFields<R extends ResourceRow>({ fields }: Kind<R>) {
  return Object.entries(fields.fields).flatMap(([name, { hidden, fixed, constant }]) =>
    hidden || LEADING.has(name) ? [] : [[name, fixed ?? constant] as const],
  );
}

/** A resource's related resources, as `summary_fields` shows them. */
function relatedIn<R extends ResourceRow>(
  { fields }: Kind<R>,
  row: Readonly<Record<string, unknown>>,
): readonly (readonly [name: string, other: Readonly<Record<string, unknown>>])[] {
  const names = Object.keys(fields.fields).filter((name) => name in RELATED && (row[name] ?? null) !== null);
  return names.map((name) => [
    name,
    {
      id: row[name],
      name: row[`${name}_name`],
      description: row[`${name}_description`],
      // A host or a group belongs to the organization of its inventory.
      ...(name === 'inventory' &&
        fields.fields['organization'] === undefined && { organization_id: row['organization'] }),
    },
  ]);
}
