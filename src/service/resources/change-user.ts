import type { Queryable } from '../../db/database.ts';
import { mayChangeUser } from '../access.ts';
import { hashPassword, unusablePassword } from '../auth/password.ts';
import type { Exchange } from '../endpoint.ts';
import { forbidden, invalid, notFound } from '../failure.ts';
import { currentSettings, type Settings } from '../settings/settings.ts';
import { insertActivity } from '../store/activity.ts';
import { deleteSessionsOf } from '../store/sessions.ts';
import {
  findUser,
  insertUser,
  setSystemAuditor,
  type UserRecord,
  updateUser,
  usernameTaken,
} from '../store/users.ts';
import { lockUser } from './lock-user.ts';
import { readPassword } from './read-password.ts';
import { booleanField, type Problems, textField } from './text-field.ts';
import { refuseEscalation, refuseForeignPassword } from './user-guards.ts';

/** A user as a request wants it; `password` in clear where it is to be set, null where it stays. */
interface WantedUser {
  readonly username: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly email: string;
  readonly is_superuser: boolean;
  readonly is_system_auditor: boolean;
  readonly is_active: boolean;
  readonly password: string | null;
}

const BLANK = {
  username: '',
  first_name: '',
  last_name: '',
  email: '',
  is_superuser: false,
  is_system_auditor: false,
  is_active: true,
};

const LOGGED = [
  'username',
  'first_name',
  'last_name',
  'email',
  'is_superuser',
  'is_system_auditor',
  'is_active',
] as const;
const USERNAME = /^[\p{L}\p{N}@.+_-]+$/u;

/** Adds the user that a body describes and returns its id. Throws 400 by field. */
export async function createUser(
  exchange: Exchange,
  body: Readonly<Record<string, unknown>>,
): Promise<number> {
  const { service, caller } = exchange;
  const settings = await currentSettings(service.database);
  const wanted = readUser(body, { base: BLANK, settings, creating: true });
  refuseEscalation(caller.user, BLANK, wanted);
  const password = wanted.password === null ? unusablePassword() : await hashPassword(wanted.password);
  return service.database.transaction(async (transaction) => {
    const id = await insertUser(transaction, { ...wanted, password });
    if (id === null) throw invalid({ username: ['A user with that username already exists.'] });
    if (wanted.is_system_auditor) await setSystemAuditor(transaction, id, true);
    await insertActivity(transaction, {
      operation: 'create',
      at: service.now(),
      changes: { ...Object.fromEntries(LOGGED.map((name) => [name, wanted[name]])), id, password: 'hidden' },
      object1: 'user',
      actorId: caller.user.id,
      node: service.node,
      userId: id,
    });
    return id;
  });
}

/**
 * Changes a user as a body says; `base` holds what stays where the body is silent. A new password or a
 * deactivation ends the user's sessions; tokens live on, but a deactivated user's are refused.
 */
export async function changeUser(
  exchange: Exchange,
  change: {
    readonly id: number;
    readonly body: Readonly<Record<string, unknown>>;
    readonly replace: boolean;
  },
): Promise<void> {
  const { service } = exchange;
  const { id, body, replace } = change;
  const settings = await currentSettings(service.database);
  const read = ({ caller, user }: { readonly caller: UserRecord; readonly user: UserRecord }) => {
    if (!mayChangeUser(caller, user)) throw forbidden();
    const base = replace ? { ...BLANK, is_active: user.is_active } : user;
    const wanted = readUser(body, { base, settings, creating: replace });
    refuseEscalation(caller, user, wanted);
    refuseForeignPassword(user, wanted);
    return wanted;
  };
  // Twice: before the slow hash, which nobody gets who may not, and again on what is there when it is done.
  const before = await findUser(service.database, id);
  if (before === null) throw notFound();
  const { password: chosen } = read({ caller: exchange.caller.user, user: before });
  const hash = chosen === null ? null : await hashPassword(chosen);
  await service.database.transaction(async (transaction) => {
    const now = await lockUser(transaction, { caller: exchange.caller.user, id });
    const { user } = now;
    const wanted = read(now);
    const password = hash ?? user.password;
    if (await usernameTaken(transaction, wanted.username, user.id)) {
      throw invalid({ username: ['A user with that username already exists.'] });
    }
    await updateUser(transaction, user.id, { ...wanted, password });
    await setSystemAuditor(transaction, user.id, wanted.is_system_auditor);
    if (wanted.password !== null || !wanted.is_active) await deleteSessionsOf(transaction, user.id);
    await noteChange(exchange, transaction, { user, wanted });
  });
}

function readUser(
  body: Readonly<Record<string, unknown>>,
  options: {
    readonly base: typeof BLANK;
    readonly settings: Settings;
    readonly creating: boolean;
  },
): WantedUser {
  const { base, settings, creating } = options;
  const problems: Problems = {};
  const text = (
    name: 'username' | 'first_name' | 'last_name' | 'email',
    maxLength: number,
    required = false,
  ) => textField(body, name, { rule: { maxLength, required, fallback: base[name] }, problems });
  const flag = (name: 'is_superuser' | 'is_system_auditor' | 'is_active') =>
    booleanField(body, name, { fallback: base[name], problems });
  const wanted = {
    username: text('username', 150, creating || body['username'] !== undefined),
    first_name: text('first_name', 150),
    last_name: text('last_name', 150),
    email: text('email', 254),
    is_superuser: flag('is_superuser'),
    is_system_auditor: flag('is_system_auditor'),
    is_active: flag('is_active'),
    password: readPassword(body, { settings, problems, required: creating && base === BLANK }),
  };
  if (problems['username'] === undefined && !USERNAME.test(wanted.username)) {
    problems['username'] = ['Enter a valid username: letters, digits and @ . + - _ only.'];
  }
  if (wanted.email !== '' && !/^[^\s@]+@[^\s@]+$/.test(wanted.email))
    problems['email'] = ['Enter a valid email address.'];
  if (Object.keys(problems).length > 0) throw invalid(problems);
  return wanted;
}

async function noteChange(
  { service, caller }: Exchange,
  transaction: Queryable,
  change: { readonly user: UserRecord; readonly wanted: WantedUser },
): Promise<void> {
  const { user, wanted } = change;
  const changed: [string, unknown][] = LOGGED.filter((name) => user[name] !== wanted[name]).map((name) => [
    name,
    [user[name], wanted[name]],
  ]);
  if (wanted.password !== null) changed.push(['password', ['hidden', 'hidden']]);
  if (changed.length === 0) return;
  await insertActivity(transaction, {
    operation: 'update',
    at: service.now(),
    changes: Object.fromEntries(changed),
    object1: 'user',
    actorId: caller.user.id,
    node: service.node,
    userId: user.id,
  });
}
