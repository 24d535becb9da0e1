import { applicationFields } from '../resources/application-fields.ts';
import { applicationJson } from '../resources/application-json.ts';
import { organizationFields } from '../resources/organization-fields.ts';
import { organizationJson } from '../resources/organization-json.ts';
import { tokenFields } from '../resources/token-fields.ts';
import { tokenJson } from '../resources/token-json.ts';
import { userFields } from '../resources/user-fields.ts';
import { userJson } from '../resources/user-json.ts';
import type { Dialect } from './dialect.ts';

/** The REST API of a controller 24.6.1. */
export const controllerDialect: Dialect = {
  name: 'controller',
  api: '/api/v2/',
  oauth2: '/api/o/',
  login: '/api/login/',
  logout: '/api/logout/',
  id: ':id',
  // As in the sample response of the specification, section 5.1.
  sessionCookieName: 'svc_sessionid',
  grantedStatus: 200,
  introspection: true,
  createsBelow: true,
  auditorFlag: 'is_system_auditor',
  fields: {
    token: tokenFields,
    user: userFields,
    organization: organizationFields,
    application: applicationFields,
  },
  show: {
    token: tokenJson,
    user: userJson,
    organization: organizationJson,
    application: applicationJson,
  },
};
