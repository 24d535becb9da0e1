import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { Exchange, Handler } from '../endpoint.ts';
import { forbidden, notFound } from '../failure.ts';
import { EVERY_ROW } from '../listing/filters.ts';
import { type Condition, type Listing, list, requireMatch, seenAnd } from '../listing/listing.ts';
import { type HeldRole, heldRoles } from '../store/object-roles.ts';
import { findResource, findResourceId, type ResourceRow, resourceColumns } from '../store/resources.ts';
import type { UserRecord } from '../store/users.ts';
import { type Kind, namedIn, render } from './kind.ts';
import { namesIn, pathId } from './request-values.ts';
import { roleOfField } from './role-texts.ts';

/**
 * Lists the resources that meet a condition or are among these ids.
 * @param visible The resources that the caller sees here, if they are not those that the caller sees elsewhere.
 */
export async function listKind<R extends ResourceRow>(
  exchange: Exchange,
  kind: Kind<R>,
  condition: Condition = EVERY_ROW,
  visible?: Sql,
): Promise<unknown> {
  const { service, caller } = exchange;
  const { user } = caller;
  const held = await heldRoles(service.database, user);
  return list<R>(exchange, {
    ...rows(kind, { user, held }, condition, visible),
    columns: resourceColumns(kind.storage),
    withRole: (field) => {
      const role = kind.storage.roles === undefined ? null : roleOfField(kind.storage.roles, field);
      return role === null ? null : (kind.withRole?.(user, held, role) ?? null);
    },
    render: (resources) => render(exchange, kind, { resources }),
  });
}

/** The rows of a kind that meet a condition, with the joins for filters. */
function rows<R extends ResourceRow>(
  kind: Kind<R>,
  { user, held }: { user: UserRecord; held: readonly HeldRole[] },
  condition: Condition,
  visible = kind.visible(user, held),
): Pick<Listing<never>, 'fields' | 'from' | 'visible' | 'among'> {
  const from = sql`${kind.storage.from} ${kind.joined?.(user, held) ?? sql``}`;
  return { fields: kind.fields, from, ...seenAnd(visible, condition) };
}

/** The resource in the path. Throws 404, or 403 if the caller may not see it. */
export async function seenResource<R extends ResourceRow>(exchange: Exchange, kind: Kind<R>): Promise<R> {
  const resource = await findResource<R>(
    exchange.service.database,
    kind.storage,
    await resourceId(exchange, kind),
  );
  if (resource === null) throw notFound();
  if (!(await canSee(exchange, kind, resource.id))) throw forbidden();
  return resource;
}

/** A handler for requests about the resource in the path. Throws as {@link seenResource}. */
export function ofSeen<R extends ResourceRow>(
  kind: Kind<R>,
  handle: (exchange: Exchange, resource: R) => unknown,
): Handler {
  return async (exchange) => handle(exchange, await seenResource(exchange, kind));
}

export async function canSee<R extends ResourceRow>(
  { service, caller }: Exchange,
  kind: Kind<R>,
  id: number,
): Promise<boolean> {
  const visible = kind.visible(caller.user, await heldRoles(service.database, caller.user));
  return sql`SELECT FROM ${kind.storage.from} WHERE (${visible}) AND x.id = ${id}`.exists(service.database);
}

/** Whether the caller may change the resource in the path. */
export async function mayChangeSeen<R extends ResourceRow>(
  exchange: Exchange,
  kind: Kind<R>,
): Promise<boolean> {
  const { service, caller } = exchange;
  const resource = await seenResource(exchange, kind);
  return kind.mayChange(caller.user, await heldRoles(service.database, caller.user), resource);
}

/** The resource in the path, if the query string's filters match it. */
export async function matching<R extends ResourceRow>(exchange: Exchange, kind: Kind<R>): Promise<R> {
  const resource = await seenResource(exchange, kind);
  const { user } = exchange.caller;
  const held = await heldRoles(exchange.service.database, user);
  await requireMatch(exchange, rows(kind, { user, held }, sql`x.id = ${resource.id}`));
  return resource;
}

async function resourceId<R extends ResourceRow>({ service, params, request }: Exchange, kind: Kind<R>) {
  const { id = '' } = params;
  if (/^\d+$/.test(id)) return pathId(id);
  const named = namedIn(kind, namesIn(request.url) ?? []);
  const found = named === null ? null : await findResourceId(service.database, kind.storage, named);
  if (found === null) throw notFound();
  return found;
}
