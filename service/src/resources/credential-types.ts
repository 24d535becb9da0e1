import { identifier, joined, literal, sql } from '@tokenctl/common/db/sql.ts';
import type { FastifyInstance } from 'fastify';
import type { ServiceContext } from '../context.ts';
import { serveEndpoint } from '../endpoint.ts';
import { notFound } from '../failure.ts';
import { declared, type FieldSet, type Relation } from '../listing/fields.ts';
import { EVERY_ROW } from '../listing/filters.ts';
import { list } from '../listing/listing.ts';
import { pathId } from './request-values.ts';
import { leadingFields } from './resource.ts';

/** The only credential type. It is part of the service and has no creator. */
export const MACHINE_TYPE = { id: 1, name: 'Machine', kind: 'ssh', namespace: 'ssh', managed: true } as const;

/** Its values in SQL, with their types, because rows cannot be sorted by constants. */
const COLUMNS = {
  id: sql`${literal(MACHINE_TYPE.id)}::integer`,
  name: sql`${literal(MACHINE_TYPE.name)}::text`,
  kind: sql`${literal(MACHINE_TYPE.kind)}::text`,
  namespace: sql`${literal(MACHINE_TYPE.namespace)}::text`,
  managed: sql`TRUE::boolean`,
} as const;

/** A row `x`. */
const FROM = sql`(SELECT ${joined(
  Object.entries(COLUMNS).map(([column, value]) => sql`${value} AS ${identifier(column)}`),
)}) x`;

const { created, modified, ...leading } = leadingFields({
  type: 'credential_type',
  name: 'credential type',
  alias: 'x',
  summary: 'Your permissions on it: none.',
});

const credentialTypeFields: FieldSet = {
  type: 'credential_type',
  fields: {
    ...leading,
    ...declared('x', {
      name: { helpText: 'Name of this type.' },
      kind: { helpText: 'What the credentials of this type are for.' },
      namespace: { helpText: 'Name of this type for use in programs.' },
      managed: { type: 'boolean', helpText: 'Whether it is part of the service and cannot be changed.' },
      inputs: {
        type: 'object',
        helpText: 'Always empty: credentials contain no secrets here.',
        column: null,
      },
      injectors: { type: 'object', helpText: 'Always empty.', column: null },
    }),
  },
  relations: {},
  searchFields: ['name'],
  order: ['name'],
};

export const TYPE_OF_CREDENTIAL: Relation = {
  searchFields: credentialTypeFields.searchFields,
  fields: Object.fromEntries(
    Object.entries(COLUMNS).flatMap(([name, column]) => {
      const field = credentialTypeFields.fields[name];
      return field === undefined ? [] : [[name, { ...field, column }]];
    }),
  ),
};

type CredentialType = typeof MACHINE_TYPE;

/** `/api/v2/credential_types/`, which is read-only: this service has one type and no custom ones. */
export function serveCredentialTypes(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/credential_types/',
    name: 'Credential types',
    description: 'The credential types. This service has one type and no custom types.',
    fields: credentialTypeFields,
    handlers: {
      GET: (exchange) =>
        list<CredentialType>(exchange, {
          fields: credentialTypeFields,
          columns: sql`*`,
          from: FROM,
          visible: EVERY_ROW,
          render: (types) => types.map(credentialTypeJson),
        }),
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/credential_types/:id(^\\d+$)/',
    name: 'Credential type',
    description: 'One credential type. It is part of the service and cannot be changed.',
    fields: credentialTypeFields,
    handlers: {
      GET: async ({ service, params }) => {
        const [found] = await sql`SELECT * FROM ${FROM}
          WHERE x.id = ${pathId(params['id'])}`.rows<CredentialType>(service.database);
        if (found === undefined) throw notFound();
        return credentialTypeJson(found);
      },
    },
  });
}

function credentialTypeJson({ id, ...type }: CredentialType): Record<string, unknown> {
  return {
    id,
    type: 'credential_type',
    url: `/api/v2/credential_types/${id}/`,
    related: {},
    summary_fields: { user_capabilities: { edit: false, delete: false } },
    ...type,
    inputs: {},
    injectors: {},
  };
}
