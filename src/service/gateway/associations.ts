import type { FastifyInstance } from 'fastify';
import { jsonObject } from '../body.ts';
import type { ServiceContext } from '../context.ts';
import { type Handler, serveEndpoint } from '../endpoint.ts';
import { invalid } from '../failure.ts';
import { changeRoles } from '../resources/memberships.ts';
import { seenOrganization } from '../resources/organizations.ts';

const LISTS = [
  ['users', 'member'],
  ['admins', 'admin'],
] as const;
const OPERATIONS = ['associate', 'disassociate'] as const;

/** `/organizations/N/users/associate/` and the like: who has a role in an organization, as a gateway 2.5 takes it. */
export function serveGatewayAssociations(app: FastifyInstance, service: ServiceContext): void {
  const { api, id } = service.dialect;
  for (const [list, role] of LISTS) {
    for (const operation of OPERATIONS) {
      serveEndpoint(app, service, {
        path: `${api}organizations/${id}/${list}/${operation}/`,
        name: operation === 'associate' ? 'Give a role' : 'Take a role',
        description: 'POST {"instances": [N, ...]} with the ids of users.',
        handlers: { POST: change(role, operation) },
      });
    }
  }
}

function change(role: 'member' | 'admin', operation: (typeof OPERATIONS)[number]): Handler {
  return async (exchange) => {
    const { id: organizationId } = await seenOrganization(exchange);
    const { instances } = jsonObject(exchange.request);
    if (!isIds(instances)) throw invalid({ instances: ['A list of ids is wanted.'] });
    await changeRoles(exchange, { userIds: instances, organizationId, role, operation });
    return undefined;
  };
}

function isIds(value: unknown): value is readonly number[] {
  return (
    Array.isArray(value) &&
    value.length <= 1000 &&
    value.every((id) => Number.isSafeInteger(id) && id > 0 && id <= 2_147_483_647)
  );
}
