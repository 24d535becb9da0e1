import type { Queryable } from '@tokenctl/common/db/database.ts';
import { canChangeUser } from '../access.ts';
import { hashPassword, unusablePassword } from '../auth/secret-hashes.ts';
import { replaceSession } from '../auth/session.ts';
import type { Exchange } from '../endpoint.ts';
import { forbidden, invalid, notFound, unauthenticated } from '../failure.ts';
import { requireFieldRights } from '../field-rights.ts';
import { outsideTurn } from '../limits/request-shares.ts';
import { requireSuperuserLogin } from '../settings/remaining-login.ts';
import { currentSettings, type Settings } from '../settings/settings.ts';
import { pick } from '../store/job-options.ts';
import { hasRolesWithout } from '../store/roles.ts';
import {
  BLANK_USER,
  claimUsername,
  deleteSessionsOf,
  findUser,
  insertUser,
  isUsernameTaken,
  lockUsers,
  setSystemAuditor,
  type UserRecord,
  updateUser,
} from '../store/users.ts';
import { type Problems, readFields } from './field-values.ts';
import { changedValues, logChange } from './resource.ts';
import { emailProblem, userFields } from './user-json.ts';

/** The user that a request describes. `password` is the new password in plain text, or null to keep it. */
type WantedUser = typeof BLANK_USER & { readonly password: string | null };

const NAME_TAKEN = {
  username: ['A user with that username, or with one that looks like it, already exists.'],
};

const NAMES = Object.keys(BLANK_USER) as readonly (keyof typeof BLANK_USER)[];

interface UserCreation {
  /** Whether the caller may create a user here. Called after the body was read. */
  readonly mayCreate: () => boolean;
  readonly whenAdded?: (transaction: Queryable, id: number) => Promise<void>;
}

/** Throws 400 by field, 403. */
export async function createUser(
  exchange: Exchange,
  body: Readonly<Record<string, unknown>>,
  { mayCreate, whenAdded }: UserCreation,
): Promise<UserRecord> {
  const { service, caller } = exchange;
  const settings = await currentSettings(service.database);
  const read = readUser(body, { base: BLANK_USER, settings, method: 'POST' });
  // As in Django for a new user: the domain of an email address has no case.
  const wanted = { ...read, email: read.email.replace(/[^@]*$/, (domain) => domain.toLowerCase()) };
  if (!mayCreate()) throw forbidden();
  if (await isUsernameTaken(service.database, wanted.username, 0)) throw invalid(NAME_TAKEN);
  requireFieldRights('user', { caller: caller.user, before: BLANK_USER, after: wanted });
  const password = wanted.password === null ? unusablePassword() : await newHash(exchange, wanted.password);
  return service.database.transaction(async (transaction) => {
    if ((await claimUsername(transaction, wanted.username, 0)) === 'taken') throw invalid(NAME_TAKEN);
    const id = await insertUser(transaction, { ...wanted, password });
    if (id === null) throw invalid(NAME_TAKEN);
    if (wanted.is_system_auditor) await setSystemAuditor(transaction, id, true);
    await logChange(exchange, transaction, {
      operation: 'create',
      changes: createdFacts(wanted, id),
      object1: 'user',
      userId: id,
    });
    await whenAdded?.(transaction, id);
    const user = await findUser(transaction, id);
    if (user === null) throw new Error('a user vanished inside the transaction that made it');
    return user;
  });
}

/** What the activity stream records of a new user: the controller's facts, and unusual values. */
function createdFacts(wanted: WantedUser, id: number): Record<string, unknown> {
  const { is_system_auditor, is_active } = wanted;
  return {
    ...pick(wanted, ['username', 'first_name', 'last_name', 'email', 'is_superuser']),
    ...(is_system_auditor && { is_system_auditor }),
    ...(!is_active && { is_active }),
    password: 'hidden',
    id,
  };
}

/**
 * Changes a user. A new password or a deactivation ends the user's sessions; a user who changes their own password in
 * a session gets a new one. Tokens stay, but those of a deactivated user are refused. Throws 400 by field, 403, 404.
 */
export async function changeUser(
  exchange: Exchange,
  change: { id: number; body: Readonly<Record<string, unknown>>; replace: boolean },
): Promise<void> {
  const { service } = exchange;
  const { id, body, replace } = change;
  const settings = await currentSettings(service.database);
  const read = async (database: Queryable, { caller, user }: LockedUser) => {
    if (!canChangeUser(caller, user)) throw forbidden();
    const wanted = readUser(body, { base: user, settings, method: replace ? 'PUT' : 'PATCH' });
    const hasForeignRoles =
      wanted.password !== null && (await hasRolesWithout(database, { user, without: caller }));
    requireFieldRights('user', {
      caller,
      user,
      hasForeignRoles,
      before: { ...user, password: null },
      after: wanted,
    });
    return wanted;
  };
  // Checked twice: before the slow hash, so that only permitted requests cost one, and again under the lock.
  const before = await findUser(service.database, id);
  if (before === null) throw notFound();
  const { password: chosen } = await read(service.database, { caller: exchange.caller.user, user: before });
  const hash = chosen === null ? null : await newHash(exchange, chosen);
  const setCookie = await service.database.transaction(async (transaction) => {
    const now = await lockUser(transaction, { caller: exchange.caller.user, id });
    const { user } = now;
    const wanted = await read(transaction, now);
    const password = hash ?? user.password;
    const isRenamed = wanted.username !== user.username;
    if (isRenamed && (await claimUsername(transaction, wanted.username, user.id)) === 'taken') {
      throw invalid(NAME_TAKEN);
    }
    await updateUser(transaction, user.id, { ...wanted, password });
    await setSystemAuditor(transaction, user.id, wanted.is_system_auditor);
    if (wanted.password !== null || !wanted.is_active) await deleteSessionsOf(transaction, user.id);
    if (user.is_superuser && !(wanted.is_superuser && wanted.is_active)) {
      await requireSuperuserLogin(service, transaction);
    }
    await logUserChange(exchange, transaction, { user, wanted });
    const isOwn = exchange.caller.method === 'session' && exchange.caller.user.id === user.id;
    return isOwn && wanted.password !== null && wanted.is_active
      ? replaceSession(service, transaction, { ...exchange, userId: user.id })
      : null;
  });
  setCookie?.();
}

/** Hashes a password in the caller's turn. Throws 429. */
function newHash({ service, caller, request }: Exchange, password: string): Promise<string> {
  const source = `user ${caller.user.id}`;
  const hash = () => hashPassword(password, service.passwordIterations);
  return outsideTurn(request, () => service.hashes.run({ source, account: source }, hash));
}

/** Reads a user by the declared fields. On PUT, fields without a default keep their value, as on the controller. */
function readUser(
  body: Readonly<Record<string, unknown>>,
  options: { base: typeof BLANK_USER; settings: Settings; method: 'POST' | 'PUT' | 'PATCH' },
): WantedUser {
  const { base, settings, method } = options;
  const problems: Problems = {};
  const current = { ...pick(base, NAMES), password: '' };
  const read = readFields(userFields, body, { current, method, problems });
  const wanted = { ...read, password: newPassword(read.password, settings, problems) };
  if (method === 'POST' && read.password === '') problems['password'] ??= ['Password required for new User.'];
  // As on the controller, which checks the email address once all else is valid.
  const changed = read.email !== '' && read.email !== base.email && Object.keys(problems).length === 0;
  const problem = changed ? emailProblem(read.email) : null;
  if (problem !== null) problems['email'] = [problem];
  if (Object.keys(problems).length > 0) throw invalid(problems);
  return wanted;
}

async function logUserChange(
  exchange: Exchange,
  transaction: Queryable,
  change: { readonly user: UserRecord; readonly wanted: WantedUser },
): Promise<void> {
  const { user, wanted } = change;
  const changes = {
    ...changedValues(NAMES, user, wanted),
    ...(wanted.password !== null && { password: ['hidden', 'hidden'] }),
  };
  if (Object.keys(changes).length === 0) return;
  await logChange(exchange, transaction, { operation: 'update', changes, object1: 'user', userId: user.id });
}

/**
 * The new password, checked against the settings. Errors are added to `problems`.
 * @param given Empty if the body has none.
 * @returns Null to keep the password: the body has none, or has the mask that the API shows.
 */
function newPassword(given: string, settings: Settings, problems: Problems): string | null {
  if (given === '' || given === '$encrypted$') return null;
  const counted: readonly [string, number, number][] = [
    ['characters', given.length, settings.LOCAL_PASSWORD_MIN_LENGTH],
    ['digits', given.replace(/\D/g, '').length, settings.LOCAL_PASSWORD_MIN_DIGITS],
    ['uppercase letters', given.replace(/\P{Lu}/gu, '').length, settings.LOCAL_PASSWORD_MIN_UPPER],
    ['special characters', given.replace(/[\p{L}\p{N}]/gu, '').length, settings.LOCAL_PASSWORD_MIN_SPECIAL],
  ];
  const short = counted.filter(([, has, needs]) => has < needs);
  if (short.length > 0)
    problems['password'] ??= short.map(([what, , needs]) => `Needs at least ${needs} ${what}.`);
  return given;
}

interface LockedUser {
  readonly caller: UserRecord;
  readonly user: UserRecord;
}

/**
 * Locks a user and the caller who is about to change it, and re-reads both. The caller may have been
 * deactivated or lost a privilege since the request began.
 * @throws RequestFailure 401 if the caller was deleted or deactivated, 404 if the user was deleted.
 */
export async function lockUser(
  transaction: Queryable,
  { caller, id }: { caller: UserRecord; id: number },
): Promise<LockedUser> {
  await lockUsers(transaction, [caller.id, id]);
  const changer = await findUser(transaction, caller.id);
  if (changer === null || !changer.is_active) throw unauthenticated();
  const user = changer.id === id ? changer : await findUser(transaction, id);
  if (user === null) throw notFound();
  return { caller: changer, user };
}
