import type { Queryable } from '../../db/database.ts';
import { administersOrganization } from '../access.ts';
import { hashToken, randomText } from '../auth/secret-hashes.ts';
import type { Exchange } from '../endpoint.ts';
import { forbidden, invalid, notFound } from '../failure.ts';
import type { Field } from '../listing/fields.ts';
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
import { booleanField, type Problems, textField } from './request-values.ts';
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
  if (!caller.user.is_superuser && caller.user.admin_of.length === 0) throw forbidden();
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
  const { before, replace } = reading;
  const { fields } = applicationFields(reading.service);
  const problems: Problems = {};
  const text = (name: 'name' | 'description' | 'redirect_uris', fallback: string) =>
    textField(body, name, {
      rule: {
        fallback,
        required: name === 'name' && (replace || body[name] !== undefined),
        ...(name === 'name' && { maxLength: 255 }),
      },
      problems,
    });
  const choice = (name: 'client_type' | 'authorization_grant_type') =>
    choiceField(body, name, { field: fields[name], fallback: replace ? null : before?.[name], problems });
  const wanted = {
    name: text('name', before?.name ?? ''),
    description: text('description', replace ? '' : (before?.description ?? '')),
    client_type: choice('client_type'),
    authorization_grant_type: before?.authorization_grant_type ?? choice('authorization_grant_type'),
    redirect_uris: text('redirect_uris', before?.redirect_uris ?? ''),
    skip_authorization: booleanField(body, 'skip_authorization', {
      fallback: replace ? false : (before?.skip_authorization ?? false),
      problems,
    }),
    organization_id: await readOrganization(body, reading, problems),
  };
  if (Object.keys(problems).length > 0) throw invalid(problems);
  if (!administersOrganization(reading.caller, wanted.organization_id)) throw forbidden();
  const problem = redirectProblem(wanted.redirect_uris, wanted.authorization_grant_type);
  if (problem !== null) throw invalid({ __all__: [problem] });
  return wanted;
}

function choiceField(
  body: Readonly<Record<string, unknown>>,
  name: string,
  {
    field,
    fallback,
    problems,
  }: {
    readonly field: Field | undefined;
    readonly fallback: string | null | undefined;
    readonly problems: Problems;
  },
): string {
  const value = body[name];
  if (value === undefined && typeof fallback === 'string') return fallback;
  if (typeof value === 'string' && field?.choices?.some(([choice]) => choice === value)) return value;
  problems[name] = [
    value === undefined ? 'This field is required.' : `${JSON.stringify(value)} is not a valid choice.`,
  ];
  return '';
}

async function readOrganization(
  body: Readonly<Record<string, unknown>>,
  { caller, service, before, replace }: Reading,
  problems: Problems,
): Promise<number | null> {
  const given = body['organization'];
  const refuse = (message: string) => {
    problems['organization'] = [message];
    return null;
  };
  if (given === undefined) {
    return replace || before === null ? refuse('This field is required.') : before.organization_id;
  }
  if (given === null) return refuse('This field may not be null.');
  const id = typeof given === 'string' && /^\d{1,10}$/.test(given) ? Number(given) : given;
  if (typeof id !== 'number' || !Number.isInteger(id) || id < 1 || id > 2_147_483_647) {
    return refuse('Expected the id of an organization.');
  }
  // Only superusers learn whether it exists. For others, a missing one is refused like a foreign one.
  if (caller.is_superuser && (await findOrganization(service.database, id)) === null) {
    return refuse(`No organization has the id ${id}.`);
  }
  return id;
}

/** Grant types that need a redirect URI. */
const REDIRECTING = new Set(['authorization-code', 'implicit']);

const WEB = /^https?:\/\/[^/?#@\\]+([/?].*)?$/i;
/** A private-use scheme, named like a reversed domain (RFC 8252 §7.1): it contains a dot. */
const PRIVATE_USE = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:.+$/i;

/**
 * Why redirect URIs, separated by white space, cannot be registered, or null. Each must be absolute, without a
 * fragment (RFC 6749 §3.1.2), with http, https or a private-use scheme. This excludes schemes that a browser
 * runs or opens itself (`javascript:`, `data:`, `ftp:`).
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
