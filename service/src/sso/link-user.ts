import type { Queryable } from '@tokenctl/common/db/database.ts';
import { randomText, unusablePassword } from '../auth/secret-hashes.ts';
import type { ServiceContext } from '../context.ts';
import { whyNoneIsLeft } from '../settings/remaining-login.ts';
import { insertActivity } from '../store/activity.ts';
import {
  BLANK_USER,
  claimUsername,
  findLinkedUser,
  findUser,
  insertUser,
  linkAccount,
  lockUsers,
  markEnterprise,
  setSystemAuditor,
  type UserRecord,
  updateUser,
} from '../store/users.ts';
import { type Identity, SsoFailure } from './backends.ts';
import type { UserRules } from './configuration.ts';
import { applyRoles, mappedFlags, mappedRoles } from './role-mapping.ts';

const MAX_NAME_LENGTH = 150;
const MAX_NUMBER = 20;

/** Two concurrent first logins of one account: the other one created the user. */
class ConcurrentLink extends Error {}

/**
 * The user linked to an account at an identity provider. The first login creates a user. Accounts are matched
 * only by the provider and its permanent id, never by an address or a user name, so that no one can take over
 * an existing account by using its name at a provider.
 *
 * Every login updates the name, address, roles and flags.
 * @throws SsoFailure `deactivated`, `no_new_users`; `misconfigured` for a new account with the wrong kind of
 * id; `unverified` for values that no account can have.
 */
export async function linkedUser(
  service: ServiceContext,
  identity: Identity,
  rules: UserRules,
): Promise<UserRecord> {
  requireStorable(identity);
  const attempt = () =>
    service.database.transaction(async (transaction) => {
      const account = { provider: identity.backend, uid: identity.uid };
      const there = await findLinkedUser(transaction, account);
      const id = there ?? (await createUser(service, transaction, { identity, rules }));
      await lockUsers(transaction, [id]);
      return update(service, transaction, { id, identity, rules });
    });
  return attempt().catch((error: unknown) => {
    if (error instanceof ConcurrentLink) return attempt();
    throw error;
  });
}

/** PostgreSQL stores no NUL, and all accounts without an id would be the same. */
function requireStorable({ uid, username, email, firstName, lastName }: Identity): void {
  const values = { uid, username, email, 'first name': firstName, 'last name': lastName };
  const [broken] = Object.entries(values).find(([, value]) => value.includes('\0')) ?? [];
  if (broken !== undefined) throw new SsoFailure('unverified', `the ${broken} contains a NUL character`);
  if (uid === '') throw new SsoFailure('unverified', 'the account has no ID');
}

async function createUser(
  service: ServiceContext,
  transaction: Queryable,
  { identity, rules }: { identity: Identity; rules: UserRules },
): Promise<number> {
  const { backend, uid, noNewUser } = identity;
  const { fields } = rules;
  if (noNewUser !== undefined) throw new SsoFailure('misconfigured', noNewUser);
  if (fields !== null && fields.length === 0) {
    throw new SsoFailure('no_new_users', 'SOCIAL_AUTH_USER_FIELDS is empty, so no users are created');
  }
  const named = fields === null || fields.includes('username');
  const { id, username } = await insertWithFreeName(
    transaction,
    named ? preferredUsername(identity, rules) : '',
  );
  if (!(await linkAccount(transaction, { provider: backend, uid, userId: id, at: service.now() }))) {
    throw new ConcurrentLink();
  }
  if (backend === 'saml') await markEnterprise(transaction, { userId: id, provider: backend });
  await insertActivity(transaction, {
    operation: 'create',
    at: service.now(),
    changes: {
      username,
      is_superuser: false,
      is_active: true,
      id,
      password: 'hidden',
      external_account: backend,
    },
    object1: 'user',
    actorId: null,
    node: service.node,
    userId: id,
  });
  return id;
}

/** The initial user name: letters, digits and `@.+-_`. NFKC replaces letters of another width or font. */
function preferredUsername({ username, email }: Identity, { usernameIsEmail }: UserRules): string {
  const wanted = usernameIsEmail && email !== '' ? email : username;
  return wanted
    .normalize('NFKC')
    .replace(/[^\p{L}\p{N}@.+_-]+/gu, '-')
    .replace(/^-+|-+$/g, '');
}

/** Creates a user with this name, or with a suffix if another user has it or a look-alike. */
async function insertWithFreeName(transaction: Queryable, wanted: string) {
  const base = [...(wanted || 'user')].slice(0, MAX_NAME_LENGTH - 10).join('');
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? '' : number <= MAX_NUMBER ? `-${number}` : `-${randomText(8)}`;
    const username = `${base}${suffix}`;
    if ((await claimUsername(transaction, username, 0)) === 'taken') continue;
    const id = await insertUser(transaction, { ...BLANK_USER, username, password: unusablePassword() });
    if (id !== null) return { id, username };
  }
}

async function update(
  service: ServiceContext,
  transaction: Queryable,
  { id, identity, rules }: { id: number; identity: Identity; rules: UserRules },
): Promise<UserRecord> {
  const user = await findUser(transaction, id);
  if (user === null) throw new ConcurrentLink();
  if (!user.is_active) throw new SsoFailure('deactivated', `user ${id} is deactivated`);
  const taken = (field: string, value: string, kept: string, longest: number) =>
    value !== '' && (rules.fields === null || rules.fields.includes(field)) ? value.slice(0, longest) : kept;
  const flags = mappedFlags(rules, identity);
  const auditor = flags.auditor ?? user.is_system_auditor;
  const profile = {
    ...user,
    email: taken('email', identity.email, user.email, 254),
    first_name: taken('first_name', identity.firstName, user.first_name, MAX_NAME_LENGTH),
    last_name: taken('last_name', identity.lastName, user.last_name, MAX_NAME_LENGTH),
    is_superuser: flags.superuser ?? user.is_superuser,
  };
  await updateUser(transaction, id, profile);
  const isDemoted = user.is_superuser && !profile.is_superuser;
  if (isDemoted && (await whyNoneIsLeft(service, transaction)) !== null) {
    await updateUser(transaction, id, { ...profile, is_superuser: true });
    service.log.warn(
      { user: id },
      'the last superuser who can log in was not demoted: local accounts are turned off',
    );
  }
  await setSystemAuditor(transaction, id, auditor);
  await applyRoles(service, transaction, { userId: id, roles: mappedRoles(rules, identity) });
  const after = await findUser(transaction, id);
  if (after === null) throw new Error(`user ${id} is missing inside the transaction that wrote it`);
  await recordUpdate(service, transaction, { before: user, after });
  return after;
}

const LOGGED = ['email', 'first_name', 'last_name', 'is_superuser', 'is_system_auditor'] as const;

async function recordUpdate(
  { now, node }: ServiceContext,
  transaction: Queryable,
  { before, after }: { before: UserRecord; after: UserRecord },
): Promise<void> {
  const changed = LOGGED.filter((name) => before[name] !== after[name]);
  if (changed.length === 0) return;
  await insertActivity(transaction, {
    operation: 'update',
    at: now(),
    changes: Object.fromEntries(changed.map((name) => [name, [before[name], after[name]]])),
    object1: 'user',
    actorId: null,
    node,
    userId: after.id,
  });
}
