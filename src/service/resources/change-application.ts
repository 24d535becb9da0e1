import type { Queryable } from '../../db/database.ts';
import { administersOrganization, canCreate } from '../access.ts';
import { hashToken, randomText } from '../auth/secret-hashes.ts';
import type { Exchange } from '../endpoint.ts';
import { badRequest, forbidden, invalid, notFound } from '../failure.ts';
import { requireFieldRights } from '../field-rights.ts';
import { jsonObject } from '../request.ts';
import { recordTokenDeletions } from '../store/activity.ts';
import {
  type ApplicationFacts,
  type ApplicationRecord,
  deleteApplication,
  findApplication,
  insertApplication,
  lockApplication,
  updateApplication,
} from '../store/applications.ts';
import { findOrganization } from '../store/organizations.ts';
import type { UserRecord } from '../store/users.ts';
import { applicationFacts, applicationFields } from './application-json.ts';
import { noSuchId, type Problems, readFields } from './field-values.ts';
import { changedValues, logChange } from './resource.ts';

const CLIENT_ID_LENGTH = 40;
const SECRET_LENGTH = 128;
const NAME_TAKEN = {
  __all__: ['OAuth2 application with this Name and Organization already exists.'],
};

/** A stored application, and its client secret if the request generated one. */
export interface WrittenApplication {
  readonly application: ApplicationRecord;
  readonly secret: string | null;
}

/**
 * Creates the application that the request body describes. The service generates the client id and secret,
 * stores the secret as a digest and returns it once.
 *
 * @param organization The organization that the path names, instead of the one in the body.
 * @throws RequestFailure 400 by field, 403.
 */
export async function createApplication(
  exchange: Exchange,
  organization?: number,
): Promise<WrittenApplication> {
  const { service, caller, request } = exchange;
  if (!canCreate(caller.user, 'application')) throw forbidden();
  const body = { ...jsonObject(request), ...(organization !== undefined && { organization }) };
  const facts = await readApplication(body, { caller: caller.user, service, before: null, replace: true });
  const secret = randomText(SECRET_LENGTH);
  const client = {
    id: randomText(CLIENT_ID_LENGTH),
    storedSecret: hashToken(secret),
    created: service.now(),
  };
  return service.database.transaction(async (transaction) => {
    const id = await insertApplication(transaction, facts, client);
    if (id === null) throw invalid(NAME_TAKEN);
    const application = await written(transaction, id);
    await logChange(exchange, transaction, {
      object1: 'o_auth2_application',
      operation: 'create',
      changes: { ...applicationFacts(application), id },
      applicationId: id,
    });
    return { application, secret };
  });
}

/**
 * Changes an application. One that changes from public to confidential gets a new secret, which is returned
 * once: the secret from its creation was never shown.
 *
 * @throws RequestFailure 400 by field, 403, 404.
 */
export async function changeApplication(
  exchange: Exchange,
  id: number,
  replace: boolean,
): Promise<WrittenApplication> {
  const { service, request } = exchange;
  const body = jsonObject(request);
  return service.database.transaction(async (transaction) => {
    const before = await changeable(exchange, transaction, id);
    const facts = await readApplication(body, {
      caller: exchange.caller.user,
      service: { ...service, database: transaction },
      before,
      replace,
    });
    const turns = before.client_type === 'public' && facts.client_type === 'confidential';
    const secret = turns ? randomText(SECRET_LENGTH) : null;
    const done = await updateApplication(transaction, {
      ...facts,
      id,
      storedSecret: secret === null ? null : hashToken(secret),
      asksAgain: facts.redirect_uris !== before.redirect_uris,
      modified: service.now(),
    });
    if (!done) throw invalid(NAME_TAKEN);
    const application = await written(transaction, id);
    const [old, current] = [applicationFacts(before), applicationFacts(application)];
    const changes = changedValues(Object.keys(current), old, current);
    if (Object.keys(changes).length > 0) {
      await logChange(exchange, transaction, {
        object1: 'o_auth2_application',
        operation: 'update',
        changes,
        applicationId: id,
      });
    }
    return { application, secret };
  });
}

/** Deletes an application and revokes its tokens, each with its entry in the activity stream. */
export async function removeApplication(exchange: Exchange, id: number): Promise<undefined> {
  const { service, caller } = exchange;
  await service.database.transaction(async (transaction) => {
    const application = await changeable(exchange, transaction, id);
    const by = { actorId: caller.user.id, at: service.now(), node: service.node };
    await recordTokenDeletions(transaction, { applicationId: id }, by);
    if (!(await deleteApplication(transaction, id))) throw notFound();
    await logChange(exchange, transaction, {
      object1: 'o_auth2_application',
      operation: 'delete',
      changes: { ...applicationFacts(application), id },
    });
  });
}

/** The application, locked, if the caller may change it. */
async function changeable(
  { caller }: Exchange,
  transaction: Queryable,
  id: number,
): Promise<ApplicationRecord> {
  const application = await lockApplication(transaction, id);
  if (application === null) throw notFound();
  if (!administersOrganization(caller.user, application.organization_id)) throw forbidden();
  return application;
}

async function written(transaction: Queryable, id: number): Promise<ApplicationRecord> {
  const application = await findApplication(transaction, id);
  if (application === null) throw new Error('an application vanished inside the transaction that wrote it');
  return application;
}

interface Reading {
  readonly caller: UserRecord;
  readonly service: { readonly database: Queryable; readonly allowImplicitGrant?: boolean };
  /** The current application; null to create one. */
  readonly before: ApplicationFacts | null;
  /** Whether required fields must be given (POST, PUT). */
  readonly replace: boolean;
}

/**
 * Reads an application from a request body. The grant type is read on creation only: it cannot change.
 *
 * @throws RequestFailure 400 by field; 403 for an organization that the caller does not administer.
 */
async function readApplication(
  body: Readonly<Record<string, unknown>>,
  reading: Reading,
): Promise<ApplicationFacts> {
  const { before, replace, caller, service } = reading;
  const method = before === null ? 'POST' : replace ? 'PUT' : 'PATCH';
  const problems: Problems = {};
  const current = {
    name: before?.name ?? '',
    description: before?.description ?? '',
    client_type: before?.client_type ?? '',
    redirect_uris: before?.redirect_uris ?? '',
    skip_authorization: before?.skip_authorization ?? false,
    organization: before?.organization_id ?? null,
  };
  const declared = applicationFields(service);
  const { organization, ...read } = readFields(declared, body, { current, method, problems });
  const { authorization_grant_type } =
    before ??
    readFields(declared, body, { current: { authorization_grant_type: '' }, method: 'POST', problems });
  await checkOrganization(body, { ...reading, problems, organization });
  const skip_authorization = keepsTrust(body, { read, before });
  const wanted = { ...read, skip_authorization, authorization_grant_type, organization_id: organization };
  if (skip_authorization && read.client_type === 'public') {
    problems['skip_authorization'] ??= ['A public application always asks for consent (RFC 8252, 8.6).'];
  }
  if (Object.keys(problems).length > 0) throw invalid(problems);
  if (!administersOrganization(caller, organization)) throw forbidden();
  const trusted = before?.skip_authorization === true && isSameClient(before, read);
  requireFieldRights('o_auth2_application', {
    caller,
    before: { skip_authorization: trusted },
    after: wanted,
  });
  const problem = redirectProblem(wanted.redirect_uris, wanted.authorization_grant_type);
  if (problem !== null) throw invalid({ __all__: [problem] });
  return wanted;
}

/** Adds what is wrong with the organization. The controller reads it before it checks the other fields, except for superusers. */
async function checkOrganization(
  body: Readonly<Record<string, unknown>>,
  reading: Reading & { readonly problems: Problems; readonly organization: number | null },
): Promise<void> {
  const { caller, service, before, problems, organization } = reading;
  const isGiven = (body['organization'] ?? null) !== null;
  if (!caller.is_superuser && problems['organization'] !== undefined && isGiven) {
    throw badRequest('Bad data found in the field organization.');
  }
  // Only superusers learn whether it exists. For others, a missing one is refused like a foreign one.
  if (organization !== null && caller.is_superuser && organization !== before?.organization_id) {
    const found = await findOrganization(service.database, organization);
    if (found === null) problems['organization'] ??= [noSuchId(organization)];
  }
}

type Client = Pick<ApplicationFacts, 'redirect_uris' | 'client_type'>;

function isSameClient(one: Client, other: Client): boolean {
  return one.redirect_uris === other.redirect_uris && one.client_type === other.client_type;
}

/**
 * Whether an application skips the consent page. Who trusted it trusted it with its addresses and its secret:
 * with others it asks again, unless the request says otherwise.
 */
function keepsTrust(
  body: Readonly<Record<string, unknown>>,
  {
    read,
    before,
  }: {
    readonly read: Client & { readonly skip_authorization: boolean };
    readonly before: Client | null;
  },
): boolean {
  const isNamed = (body['skip_authorization'] ?? null) !== null;
  return read.skip_authorization && (isNamed || (before !== null && isSameClient(before, read)));
}

/** Grant types that need a redirect URI. */
const REDIRECTING = new Set(['authorization-code', 'implicit']);

const WEB = /^https?:\/\/[^/?#@\\]+([/?].*)?$/i;
/** A private-use scheme, named like a reversed domain (RFC 8252 §7.1): it contains a dot. */
const PRIVATE_USE = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:.+$/i;

/**
 * Why redirect URIs, separated by white space, cannot be registered, or null. Each must be absolute, without
 * a fragment (RFC 6749 §3.1.2), with http, https or a private-use scheme. This excludes schemes that a
 * browser runs or opens itself (`javascript:`, `data:`, `ftp:`).
 */
function redirectProblem(uris: string, grantType: string): string | null {
  const separate = uris.split(/\s+/).filter((uri) => uri !== '');
  if (separate.length === 0 && REDIRECTING.has(grantType)) {
    return `redirect_uris cannot be empty with the grant type ${grantType}.`;
  }
  const wrong = separate.find((uri) => !isRegistrable(uri));
  return wrong === undefined
    ? null
    : `${wrong} is not an absolute http, https or app URI without a fragment.`;
}

function isRegistrable(uri: string): boolean {
  return URL.canParse(uri) && !uri.includes('#') && (WEB.test(uri) || PRIVATE_USE.test(uri));
}
