import type { Queryable } from '../../db/database.ts';
import { administersOrganization } from '../access.ts';
import { jsonObject } from '../body.ts';
import type { Exchange } from '../endpoint.ts';
import { forbidden, invalid, notFound } from '../failure.ts';
import { insertActivity } from '../store/activity.ts';
import { noteEndOfApplications, noteEndOfTokens } from '../store/cascade-activity.ts';
import {
  deleteOrganization,
  findOrganization,
  insertOrganization,
  lockOrganization,
  type OrganizationRecord,
  updateOrganization,
} from '../store/organizations.ts';
import { integerField, type Problems, textField } from './text-field.ts';

type Wanted = Pick<OrganizationRecord, 'name' | 'description' | 'max_hosts'>;

const BLANK: Wanted = { name: '', description: '', max_hosts: 0 };
const LOGGED = ['name', 'description', 'max_hosts'] as const;
const NAME_TAKEN = { name: ['Organization with this Name already exists.'] };

/** Makes the organization that the request's body describes. Throws 400 by field, 403. */
export async function createOrganization(exchange: Exchange): Promise<OrganizationRecord> {
  const { service, caller } = exchange;
  if (!caller.user.is_superuser) throw forbidden();
  const wanted = readOrganization(exchange, BLANK);
  return service.database.transaction(async (transaction) => {
    const id = await insertOrganization(transaction, {
      ...wanted,
      createdBy: caller.user.id,
      at: service.now(),
    });
    if (id === null) throw invalid(NAME_TAKEN);
    await note(exchange, transaction, {
      operation: 'create',
      changes: { ...facts(wanted), id },
      organizationId: id,
    });
    return written(transaction, id);
  });
}

/** Changes an organization as the request's body says. Throws 400 by field, 403, 404. */
export async function changeOrganization(
  exchange: Exchange,
  id: number,
  replace: boolean,
): Promise<OrganizationRecord> {
  const { service, caller } = exchange;
  return service.database.transaction(async (transaction) => {
    const before = await changeable(exchange, transaction, id);
    const wanted = readOrganization(exchange, replace ? BLANK : before);
    const done = await updateOrganization(transaction, {
      ...wanted,
      id,
      modifiedBy: caller.user.id,
      at: service.now(),
    });
    if (!done) throw invalid(NAME_TAKEN);
    const changed = LOGGED.filter((name) => before[name] !== wanted[name]);
    if (changed.length > 0) {
      const changes = Object.fromEntries(changed.map((name) => [name, [before[name], wanted[name]]]));
      await note(exchange, transaction, { operation: 'update', changes, organizationId: id });
    }
    return written(transaction, id);
  });
}

/** Deletes an organization with its applications; their tokens end, each with its entry. Throws 403, 404. */
export async function removeOrganization(exchange: Exchange, id: number): Promise<undefined> {
  const { service, caller } = exchange;
  await service.database.transaction(async (transaction) => {
    const organization = await changeable(exchange, transaction, id);
    const by = { actorId: caller.user.id, at: service.now(), node: service.node };
    await noteEndOfTokens(transaction, { organizationId: id }, by);
    await noteEndOfApplications(transaction, id, by);
    if (!(await deleteOrganization(transaction, id))) throw notFound();
    await note(exchange, transaction, { operation: 'delete', changes: { ...facts(organization), id } });
  });
}

/** The organization, locked, if the caller may change it. */
async function changeable(
  { caller }: Exchange,
  transaction: Queryable,
  id: number,
): Promise<OrganizationRecord> {
  const organization = await lockOrganization(transaction, id);
  if (organization === null) throw notFound();
  if (!administersOrganization(caller.user, id)) throw forbidden();
  return organization;
}

async function written(transaction: Queryable, id: number): Promise<OrganizationRecord> {
  const organization = await findOrganization(transaction, id);
  if (organization === null) throw new Error('an organization vanished inside the transaction that wrote it');
  return organization;
}

function readOrganization(exchange: Exchange, base: Wanted): Wanted {
  const body = jsonObject(exchange.request);
  const problems: Problems = {};
  const required = base.name === '' || body['name'] !== undefined;
  const name = textField(body, 'name', { rule: { fallback: base.name, required, maxLength: 512 }, problems });
  const description = textField(body, 'description', { rule: { fallback: base.description }, problems });
  const most = integerField(body, 'max_hosts', { least: 0, fallback: base.max_hosts, problems });
  if (Object.keys(problems).length > 0) throw invalid(problems);
  return { name, description, max_hosts: most };
}

function facts(organization: Wanted): Record<string, unknown> {
  return Object.fromEntries(LOGGED.map((name) => [name, organization[name]]));
}

function note(
  { service, caller }: Exchange,
  transaction: Queryable,
  entry: {
    readonly operation: 'create' | 'update' | 'delete';
    readonly changes: Readonly<Record<string, unknown>>;
    readonly organizationId?: number;
  },
): Promise<void> {
  return insertActivity(transaction, {
    ...entry,
    at: service.now(),
    object1: 'organization',
    actorId: caller.user.id,
    node: service.node,
  });
}
