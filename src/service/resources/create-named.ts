import { administersOrganization } from '../access.ts';
import { jsonObject } from '../body.ts';
import type { Exchange } from '../endpoint.ts';
import { forbidden, invalid } from '../failure.ts';
import { insertNamed } from '../store/inventory.ts';
import { findOrganization } from '../store/organizations.ts';
import { integerField, type Problems, textField } from './text-field.ts';

/** What is made by a name and an organization; a credential may belong to none. */
const KINDS = {
  inventory: { path: '/api/v2/inventories/', table: 'main_inventory', ownerless: false },
  credential: { path: '/api/v2/credentials/', table: 'main_credential', ownerless: true },
} as const;

/**
 * POST on the inventories or credentials: its name, what it is for and whose it is. Credentials hold no
 * secrets here.
 *
 * @throws RequestFailure 400 by field, 403 for an organization that the caller does not administer.
 */
export async function createNamed(exchange: Exchange, type: keyof typeof KINDS): Promise<unknown> {
  const { path, table, ownerless } = KINDS[type];
  const { service, caller, request, reply } = exchange;
  const body = jsonObject(request);
  const problems: Problems = {};
  const text = (name: string, required: boolean, maxLength?: number) =>
    textField(body, name, {
      rule: { fallback: '', required, ...(maxLength && { maxLength }) },
      problems,
    });
  const made = {
    name: text('name', true, 512),
    description: text('description', false),
    organization: readOrganization(body, ownerless, problems),
  };
  if (Object.keys(problems).length > 0) throw invalid(problems);
  const { organization } = made;
  if (!administersOrganization(caller.user, organization)) throw forbidden();
  if (organization !== null && (await findOrganization(service.database, organization)) === null) {
    throw invalid({ organization: [`There is no organization with the id ${organization}.`] });
  }
  const row = await insertNamed(service.database, table, made);
  if (row === null) throw invalid({ __all__: ['The organization has one of this name already.'] });
  reply.code(201).header('Location', `${path}${row.id}/`);
  const { id, ...rest } = row;
  return { id, type, url: `${path}${id}/`, ...rest };
}

function readOrganization(
  body: Readonly<Record<string, unknown>>,
  ownerless: boolean,
  problems: Problems,
): number | null {
  const given = body['organization'];
  if (ownerless && (given === undefined || given === null)) return null;
  const id = integerField(body, 'organization', { least: 1, fallback: 0, problems });
  if (id === 0) problems['organization'] ??= ['This field is required.'];
  return id;
}
