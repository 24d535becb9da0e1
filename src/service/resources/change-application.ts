import type { Queryable } from '../../db/database.ts';
import { administersOrganization } from '../access.ts';
import { storedForm } from '../auth/digest.ts';
import { randomText } from '../auth/password.ts';
import { jsonObject } from '../body.ts';
import type { Exchange } from '../endpoint.ts';
import { forbidden, invalid, notFound } from '../failure.ts';
import { insertActivity } from '../store/activity.ts';
import {
  type ApplicationRecord,
  deleteApplication,
  findApplication,
  insertApplication,
  lockApplication,
  updateApplication,
} from '../store/applications.ts';
import { noteEndOfTokens } from '../store/cascade-activity.ts';
import { applicationFacts } from './application-json.ts';
import { readApplication } from './read-application.ts';

const CLIENT_ID_LENGTH = 40;
const SECRET_LENGTH = 128;
const NAME_TAKEN = {
  __all__: ['OAuth2 application with this Name and Organization already exists.'],
};

/** An application as it was written, and its secret where it got one just now. */
export interface WrittenApplication {
  readonly application: ApplicationRecord;
  readonly secret: string | null;
}

/**
 * Makes the application that the request's body describes. Its id and secret are the service's choice; the
 * secret is stored as a digest and returned this once.
 *
 * @param organization The organization that the path names, instead of one in the body.
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
    storedSecret: storedForm(secret),
    created: service.now(),
  };
  return service.database.transaction(async (transaction) => {
    const id = await insertApplication(transaction, facts, client);
    if (id === null) throw invalid(NAME_TAKEN);
    const application = await written(transaction, id);
    await note(exchange, transaction, {
      operation: 'create',
      changes: { ...applicationFacts(application), id },
      applicationId: id,
    });
    return { application, secret };
  });
}

/**
 * Changes an application as the body says. One that turns from public to confidential gets a secret, which
 * is returned this once: nobody ever saw the one it was made with.
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
      storedSecret: secret === null ? null : storedForm(secret),
      modified: service.now(),
    });
    if (!done) throw invalid(NAME_TAKEN);
    const application = await written(transaction, id);
    const changes = differences(applicationFacts(before), applicationFacts(application));
    if (Object.keys(changes).length > 0) {
      await note(exchange, transaction, { operation: 'update', changes, applicationId: id });
    }
    return { application, secret };
  });
}

/** Deletes an application; its tokens end with it, each with its entry in the activity stream. */
export async function removeApplication(exchange: Exchange, id: number): Promise<undefined> {
  const { service, caller } = exchange;
  await service.database.transaction(async (transaction) => {
    const application = await changeable(exchange, transaction, id);
    const by = { actorId: caller.user.id, at: service.now(), node: service.node };
    await noteEndOfTokens(transaction, { applicationId: id }, by);
    if (!(await deleteApplication(transaction, id))) throw notFound();
    await note(exchange, transaction, {
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

function differences(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const names = Object.keys(after).filter((name) => before[name] !== after[name]);
  return Object.fromEntries(names.map((name) => [name, [before[name], after[name]]]));
}

function note(
  { service, caller }: Exchange,
  transaction: Queryable,
  entry: {
    readonly operation: 'create' | 'update' | 'delete';
    readonly changes: Readonly<Record<string, unknown>>;
    readonly applicationId?: number;
  },
): Promise<void> {
  return insertActivity(transaction, {
    ...entry,
    at: service.now(),
    object1: 'o_auth2_application',
    actorId: caller.user.id,
    node: service.node,
  });
}
