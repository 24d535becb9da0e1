import type { FastifyInstance } from 'fastify';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { badRequest, forbidden } from '../failure.ts';
import type { FieldSet } from '../listing/fields.ts';
import type { ResourceRow } from '../store/resources.ts';
import type { Kind } from './kind.ts';
import { leadingFields, nameAndDescription } from './resource.ts';
import { mayChangeSeen, ofSeen } from './seen-resources.ts';

const NOTIFY = 'send notifications';
const INSTANCE_GROUPS = 'have instance groups';
const LABELS = 'have labels';

/**
 * Relations that resources have on the controller but not here, by address. `awx export` lists them even if empty,
 * and `awx import` and the collection's modules request them. The texts complete "This service does not …".
 */
export const EMPTY_RELATIONS = {
  organization: {
    galaxy_credentials: 'fetch collections',
    execution_environments: 'have execution environments',
    instance_groups: INSTANCE_GROUPS,
    ...notifications('started', 'success', 'error', 'approvals'),
  },
  inventory: { instance_groups: INSTANCE_GROUPS, labels: LABELS },
  project: notifications('started', 'success', 'error'),
  job_template: {
    credentials: 'pass credentials to jobs',
    instance_groups: INSTANCE_GROUPS,
    labels: LABELS,
    schedules: 'have schedules',
    survey_spec: 'run surveys',
    ...notifications('started', 'success', 'error'),
  },
} as const satisfies Readonly<Record<string, Kind['empty']>>;

function notifications(...events: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(events.map((event) => [`notification_templates_${event}`, NOTIFY]));
}

/** Serves the related addresses of a kind that are always empty. POST is refused with the reason. */
export function serveEmptyRelations<R extends ResourceRow>(
  app: FastifyInstance,
  service: ServiceContext,
  kind: Kind<R>,
): void {
  for (const [name, does] of Object.entries(kind.empty ?? {})) {
    const words = name.replaceAll('_', ' ');
    serveEndpoint(app, service, {
      path: `${kind.path}:id/${name}/`,
      name: `${words[0]?.toUpperCase()}${words.slice(1)} of one of the ${kind.plural.toLowerCase()}`,
      description: `Always empty: this service does not ${does}.`,
      fields: fieldsOf(name),
      attaches: true,
      allows: (exchange) => mayChangeSeen(exchange, kind),
      handlers: {
        GET: ofSeen(kind, () =>
          name === 'survey_spec' ? {} : { count: 0, next: null, previous: null, results: [] },
        ),
        POST: (exchange) => refuse(exchange, kind, does),
      },
    });
  }
}

/** The fields for OPTIONS. Without writable fields, clients treat the address as read-only, or fail. */
function fieldsOf(name: string): FieldSet {
  const type = name.replace(/s?(_(started|success|error|approvals))?$/, '');
  const words = type.replaceAll('_', ' ');
  return {
    type,
    fields: {
      ...leadingFields({ type, name: words, alias: 'x', summary: 'Nothing.' }),
      ...nameAndDescription(words),
    },
    relations: {},
    searchFields: ['name'],
    order: ['name'],
  };
}

async function refuse<R extends ResourceRow>(exchange: Exchange, kind: Kind<R>, does: string) {
  if (!(await mayChangeSeen(exchange, kind))) throw forbidden();
  throw badRequest(`This service does not ${does}.`);
}
