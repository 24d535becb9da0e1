import { words } from '@tokenctl/common/text.ts';
import type { ItemRemedy } from './investigation.ts';

/** The requests that a controller 24.6.1 carried out. A test compares them with the recordings. */
export const TRIED_REQUESTS: Readonly<Record<string, readonly string[]>> = {
  DELETE:
    words(`applications credential_types credentials execution_environments hosts instance_groups inventories
    job_templates notification_templates organizations role_user_assignments schedules teams tokens users
    workflow_job_template_nodes workflow_job_templates`),
  PATCH:
    words(`applications credentials hosts inventories job_templates organizations projects schedules settings/all
    teams tokens users`),
  POST: words(`inventories/hosts job_templates/webhook_key organizations/admins organizations/users roles/users
    teams/users users/roles`),
};

/**
 * Requests that the library of real gateways carried out; users and settings of the recorded gateways are
 * from a stand-in. Paths are below `/api/gateway/v1/`.
 */
const TRIED_ON_GATEWAYS: Readonly<Record<string, readonly string[]>> = {
  DELETE: ['role_user_assignments'],
  PATCH: ['applications'],
};

/** The lookup key of a request: the method, and the path without its root and ids. */
export function requestForm(method: string, path: string): string {
  return `${method} ${path
    .replace(/^\/api\/(?:gateway\/v1|v2)\//, '')
    .replace(/(?:^|\/)\d+(?=\/|$)/g, '')
    .replace(/\/$/, '')}`;
}

function isTried(request: string): boolean {
  const [method = '', path = ''] = request.split(' ');
  const tried = path.startsWith('/api/gateway/') ? TRIED_ON_GATEWAYS : TRIED_REQUESTS;
  return tried[method]?.some((names) => requestForm(method, path) === `${method} ${names}`) === true;
}

/** A remedy of requests to send one after the other. */
export function callRemedy(requests: readonly string[]): ItemRemedy {
  const text = requests.join(', then ');
  return { kind: 'call', text, ...(!requests.every(isTried) && { isUntried: true }) };
}

/** Requests within a sentence, marked if no controller was tested with them. */
export function requestsText(requests: readonly string[]): string {
  return requests
    .map((request) => (isTried(request) ? request : `${request} (not tested on a controller)`))
    .join(', then ');
}
