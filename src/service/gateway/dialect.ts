import type { Dialect } from '../dialects/dialect.ts';
import { gatewayApplicationJson } from './application-json.ts';
import {
  gatewayApplicationFields,
  gatewayOrganizationFields,
  gatewayTokenFields,
  gatewayUserFields,
} from './fields.ts';
import { gatewayOrganizationJson } from './organization-json.ts';
import { API } from './related.ts';
import { gatewayTokenJson } from './token-json.ts';
import { gatewayUserJson } from './user-json.ts';

/** The REST API of the platform gateway, as far as its users, tokens and settings go. */
export const gatewayDialect: Dialect = {
  name: 'gateway',
  api: API,
  oauth2: '/o/',
  login: `${API}login/`,
  logout: `${API}logout/`,
  id: ':id(^\\d+$)',
  sessionCookieName: 'gateway_sessionid',
  grantedStatus: 201,
  introspection: false,
  createsBelow: false,
  auditorFlag: 'is_platform_auditor',
  fields: {
    token: gatewayTokenFields,
    user: gatewayUserFields,
    organization: gatewayOrganizationFields,
    application: gatewayApplicationFields,
  },
  show: {
    token: gatewayTokenJson,
    user: gatewayUserJson,
    organization: gatewayOrganizationJson,
    application: gatewayApplicationJson,
  },
};
