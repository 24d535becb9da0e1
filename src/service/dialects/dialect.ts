import type { Caller } from '../auth/authenticate.ts';
import type { FieldSet } from '../listing/fields.ts';
import type { ApplicationView } from '../resources/application-json.ts';
import type { IssuedValues } from '../resources/token-json.ts';
import type { ApplicationRecord } from '../store/applications.ts';
import type { OrganizationRecord } from '../store/organizations.ts';
import type { TokenRecord } from '../store/tokens.ts';
import type { UserRecord } from '../store/users.ts';

/** Whose REST API the service speaks: a controller's, or the platform gateway's. */
export type DialectName = 'controller' | 'gateway';

/** A record as JSON. */
type Json = Record<string, unknown>;

/**
 * What differs between the two REST APIs: where things are and what they are called. Routes and links ask it,
 * so that what is done stands once.
 */
export interface Dialect {
  readonly name: DialectName;
  /** What the API's collections are below, with a slash at the end; likewise the other addresses. */
  readonly api: string;
  /** What the OAuth2 endpoints are below. */
  readonly oauth2: string;
  readonly login: string;
  readonly logout: string;
  /** The path parameter `id` of a record, as Fastify writes it: by number alone, or by name as well. */
  readonly id: string;
  /** What the session cookie is called unless the operator says. */
  readonly sessionCookieName: string;
  /** What the token endpoint answers with tokens. RFC 6749 §5.1 says 200; the gateway says 201. */
  readonly grantedStatus: 200 | 201;
  /** Whether there is an introspection endpoint (RFC 7662). */
  readonly introspection: boolean;
  /** Whether POST on a list below a record, as of an application's tokens, does what it does on the whole list. */
  readonly createsBelow: boolean;
  /** What the flag of those is called who see everything and change nothing. */
  readonly auditorFlag: 'is_system_auditor' | 'is_platform_auditor';
  /** The fields of each resource. */
  readonly fields: {
    readonly token: FieldSet;
    readonly user: FieldSet;
    readonly organization: FieldSet;
    readonly application: (service: { readonly allowImplicitGrant?: boolean }) => FieldSet;
  };
  /** How each resource is shown; `detail` where it is the only one in the answer. */
  readonly show: {
    /** Its value, and its refresh token's, only right after it was made. */
    readonly token: (token: TokenRecord, issued?: IssuedValues) => Json;
    readonly user: (user: UserRecord, caller: Caller, detail?: boolean) => Json;
    readonly organization: (organization: OrganizationRecord, caller: Caller, detail?: boolean) => Json;
    readonly application: (application: ApplicationRecord, view: ApplicationView) => Json;
  };
}
