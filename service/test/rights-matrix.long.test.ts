import { beforeAll, describe, expect, it } from 'vitest';
import { administersOrganization, administersTeam, canChangeToken, canChangeUser } from '../src/access.ts';
import { FIELD_RULES, requireFieldRights } from '../src/field-rights.ts';
import { mayAssign } from '../src/resources/memberships.ts';
import { canSeeUser } from '../src/resources/users.ts';
import { heldRoles } from '../src/store/object-roles.ts';
import { findRole, hasRolesWithout, type RoleRecord } from '../src/store/roles.ts';
import { findToken } from '../src/store/tokens.ts';
import { findUser, type UserRecord } from '../src/store/users.ts';
import { type Attempt, rightsPage } from './rights-table.ts';
import {
  makeRightsWorld,
  PERSONAS,
  type Persona,
  projectsForRights,
  type RightsWorld,
  type Thing,
} from './rights-world.ts';
import { type Body, useService } from './support/service.ts';

/** New values by field, where the type of the field does not say enough. */
const VALUES: Readonly<Record<string, (now: unknown, count: number, world: RightsWorld) => unknown>> = {
  username: (_now, count) => `name${count}`,
  email: (_now, count) => `e${count}@example.org`,
  password: (_now, count) => `password ${count}`,
  organization: (now, _count, { organizations: { a, b } }) => (now === a ? b : a),
  redirect_uris: (_now, count) => `https://app.example.org/cb${count}`,
  variables: (_now, count) => `a: ${count}`,
  extra_vars: (_now, count) => `a: ${count}`,
  scope: (now) => (now === 'read' ? 'write' : 'read'),
  limit: (_now, count) => `host${count}`,
  inventory: (now) => now,
  project: (now) => now,
  playbook: (now) => now,
  local_path: (now) => now,
};

/** Whoever has one of these decides on everything, or on what a superuser who follows a link does. */
const EVERYTHING = ['is_superuser', 'is_system_auditor', 'skip_authorization'];

describe('who may set which field of which object', () => {
  const { service } = useService(() => ({ projects: projectsForRights(), searchPath: '/nonexistent' }));
  let world: RightsWorld;
  const attempts: Attempt[] = [];
  let count = 0;

  beforeAll(async () => {
    world = await makeRightsWorld(service);
  });

  const record = async (id: number): Promise<UserRecord> => {
    const user = await findUser(service.database, id);
    if (user === null) throw new Error(`no user ${id}`);
    return user;
  };
  const organizationOf = ({ type, label }: Thing) =>
    type !== 'user' && label === 'of another organization' ? world.organizations.b : world.organizations.a;

  /** What the code that decides says of an object. */
  async function mayChange(caller: UserRecord, thing: Thing): Promise<boolean> {
    const { database } = service;
    switch (thing.type) {
      case 'user': {
        const user = await record(thing.id);
        return canChangeUser(caller, user) && (await canSeeUser(database, caller, thing.id));
      }
      case 'o_auth2_access_token': {
        const token = await findToken(database, thing.id);
        return token !== null && canChangeToken(caller, token);
      }
      case 'team':
        if (administersTeam(await heldRoles(database, caller), thing.id)) return true;
    }
    return administersOrganization(caller, organizationOf(thing));
  }

  /** What it says of a field. */
  async function maySet(
    caller: UserRecord,
    thing: Thing,
    change: { readonly field: string; readonly from: unknown; readonly to: unknown },
  ): Promise<boolean> {
    if (!(await mayChange(caller, thing))) return false;
    const { field, from, to } = change;
    if (field === 'organization' && !administersOrganization(caller, to as number)) return false;
    const user = thing.type === 'user' ? await record(thing.id) : undefined;
    try {
      requireFieldRights(thing.type, {
        caller,
        ...(user && {
          user,
          hasForeignRoles: await hasRolesWithout(service.database, { user, without: caller }),
        }),
        before: { [field]: from },
        after: { [field]: to },
      });
      return true;
    } catch {
      return false;
    }
  }

  function newValue(field: string, described: Body, now: unknown): unknown {
    count += 1;
    const special = VALUES[field];
    if (special !== undefined) return special(now, count, world);
    const { type, choices } = described as unknown as { type: string; choices?: [unknown, string][] };
    switch (type) {
      case 'boolean':
        return now !== true;
      case 'integer':
        return Number(now) + 1;
      case 'choice':
        return choices?.map(([choice]) => choice).find((choice) => choice !== now);
      default:
        return `text${count}`;
    }
  }

  /** The roles of a user, with those that they include. */
  async function rolesOf(id: number): Promise<ReadonlySet<string>> {
    const { is_superuser, is_system_auditor, admin_of, auditor_of, member_of } = await record(id);
    const { a, b } = world.organizations;
    const held = await service.database.query<{ role: string; team_id: number; organization_id: number }>(
      'SELECT h.role, h.team_id, t.organization_id FROM service_team_role h JOIN main_team t ON t.id = h.team_id WHERE h.user_id = $1',
      [id],
    );
    const all = ['admin', 'auditor', 'member', 'teams', 'objects'];
    const of = (organization: number, roles: readonly string[]) =>
      roles.map((role) => `${role} of ${organization}`);
    return new Set([
      ...(is_superuser ? ['everything', 'auditor', ...of(a, all), ...of(b, all)] : []),
      ...(is_system_auditor ? ['auditor', ...of(a, ['auditor']), ...of(b, ['auditor'])] : []),
      ...admin_of.flatMap((id) => of(id, all)),
      ...auditor_of.flatMap((id) => of(id, ['auditor'])),
      ...member_of.flatMap((id) => of(id, ['member'])),
      ...held.map(({ role, team_id }) => `${role} of team ${team_id}`),
    ]);
  }

  /**
   * Whether someone with some roles has others as well: whoever administers an organization has its teams.
   */
  async function lacks(persona: Persona, gains: ReadonlySet<string>): Promise<readonly string[]> {
    const held = await rolesOf(world.ids[persona]);
    const teams = await service.database.query<{ id: number; organization_id: number }>(
      'SELECT id, organization_id FROM main_team',
    );
    const inherited = teams.flatMap(({ id, organization_id }) => [
      ...(held.has(`teams of ${organization_id}`) ? [`admin of team ${id}`, `member of team ${id}`] : []),
      ...(held.has(`admin of team ${id}`) ? [`member of team ${id}`] : []),
    ]);
    const all = new Set([...held, ...inherited]);
    return [...gains].filter((role) => !all.has(role) && !held.has('everything'));
  }

  /** What a persona has through a field that it sets to a value of its choice. */
  async function gainsOf(thing: Thing, field: string, to: unknown): Promise<ReadonlySet<string>> {
    if (EVERYTHING.includes(field) && to === true) return new Set(['everything']);
    if (thing.type === 'user' && field === 'password') return rolesOf(thing.id);
    if (field === 'scope' && to === 'write') return new Set(['what the token may not']);
    return new Set();
  }

  async function attempt(persona: Persona, thing: Thing, field: string, described: Body): Promise<Attempt> {
    const { root, clients, ids } = world;
    const before = (await root.get(thing.path)).json[field];
    const from = field === 'is_active' ? true : before;
    const to = newValue(field, described, from);
    const caller = await record(ids[persona]);
    const expected = await maySet(caller, thing, { field, from: field === 'password' ? null : from, to });
    const gains = await gainsOf(thing, field, to);
    const answer = await clients[persona].patch(thing.path, { [field]: to });
    const done = answer.status === 200;
    const said = `${persona} sets ${field} of ${thing.type} ${thing.label}: ${answer.status} ${answer.text}`;
    expect([said, done]).toEqual([said, expected]);
    const after = (await root.get(thing.path)).json[field];
    if (!done) expect([said, after]).toEqual([said, before]);
    if (done && field === 'is_active') await root.patch(thing.path, { is_active: true });
    if (done && !['password', 'is_active', 'scope'].includes(field)) {
      await root.patch(thing.path, { [field]: before });
    }
    if (thing.type === 'o_auth2_access_token') {
      await service.database.execute('UPDATE main_oauth2accesstoken SET scope = $2 WHERE id = $1', [
        thing.id,
        field === 'scope' && before === 'write' ? 'read' : 'write',
      ]);
    }
    const named = field === 'scope' ? `scope to ${to}` : field;
    return { persona, type: thing.type, field: named, label: thing.label, gains, done };
  }

  async function attemptAll(thing: Thing): Promise<void> {
    const { actions } = (await world.root.send('OPTIONS', thing.path)).json as unknown as {
      actions: { PUT: Record<string, Body> };
    };
    const personas = thing.of === undefined ? PERSONAS : [thing.of];
    // A token that narrows its own scope cannot ask again.
    const fields = Object.entries(actions.PUT).filter(
      ([field]) => !(field === 'scope' && thing.label === 'own'),
    );
    for (const [field, described] of fields) {
      for (const persona of personas) {
        attempts.push(await attempt(persona, thing, field, described));
        if (field === 'scope') attempts.push(await attempt(persona, thing, field, described));
      }
    }
  }

  /** Gives a role to a user, as the code that decides says. */
  async function attemptRole(persona: Persona, name: string, to: string): Promise<Attempt> {
    const { root, clients, ids, users, roles } = world;
    const held = await findRole(service.database, roles[name] ?? 0);
    if (held === null) throw new Error(`no role ${name}`);
    const user = await record(users[to] ?? ids[persona]);
    const caller = await record(ids[persona]);
    const path = `/api/v2/roles/${held.id}/users/`;
    const has = (await root.get(`${path}?id=${user.id}`)).json.count === 1;
    const expected = await mayAssign(service.database, held, { caller, user });
    const answer = await clients[persona].post(path, { id: user.id });
    const done = answer.status === 204;
    const said = `${persona} makes ${to} ${name}: ${answer.status} ${answer.text}`;
    expect([said, done]).toEqual([said, expected]);
    if (done && !has) await root.post(path, { id: user.id, disassociate: true });
    // Whoever may set the password of a user has the user's roles.
    const account = { type: 'user', label: '', path: '', id: user.id };
    const isTheirs =
      user.id === caller.id || (await maySet(caller, account, { field: 'password', from: null, to: 'x' }));
    const gains = new Set(isTheirs ? [gainOf(held)] : []);
    return { persona, type: 'role', field: name, label: to, gains, done };
  }

  /** A role as {@link rolesOf} has it. Whoever administers an organization has all roles on its objects. */
  function gainOf({ role, resource_type, resource_id, organization_id }: RoleRecord): string {
    if (resource_type === 'team') return `${role === 'read' ? 'member' : role} of team ${resource_id}`;
    const isMembership = resource_type === 'organization' && ['admin', 'auditor', 'member'].includes(role);
    return isMembership ? `${role} of ${resource_id}` : `objects of ${organization_id}`;
  }

  it('is what the code that decides says', async () => {
    for (const thing of world.things) await attemptAll(thing);
    const tried = new Set(attempts.map(({ type, field }) => `${type} ${field.split(' ')[0]}`));
    const ruled = Object.entries(FIELD_RULES).flatMap(([type, rules]) =>
      Object.keys(rules).map((field) => `${type} ${field}`),
    );
    expect(ruled.filter((field) => !tried.has(field))).toEqual([]);
  });

  it('holds for roles as well', async () => {
    for (const name of Object.keys(world.roles)) {
      // Roles that give no rights over their holders are given to some kinds of users only, to save time.
      const isMembership = /^(admin|auditor|member) of (team )?.$/.test(name);
      const others = isMembership
        ? Object.keys(world.users)
        : ['a member', 'a member of another organization'];
      for (const to of [...others, 'oneself']) {
        for (const persona of PERSONAS) attempts.push(await attemptRole(persona, name, to));
      }
    }
  });

  it('lets no one set a setting but superusers', async () => {
    for (const persona of PERSONAS) {
      const { status } = await world.clients[persona].patch('/api/v2/settings/authentication/', {
        SESSION_COOKIE_AGE: 1800,
      });
      expect([persona, status]).toEqual([persona, persona === 'superuser' ? 200 : 403]);
    }
  });

  it('is what the documentation says', async () => {
    await expect(rightsPage(attempts)).toMatchFileSnapshot('../docs/rights.md');
  });

  it('leads to no higher right', async () => {
    const done = attempts.filter((each) => each.done && each.gains.size > 0);
    expect(done.length).toBeGreaterThan(10);
    const wrong: string[] = [];
    for (const { persona, type, field, label, gains } of done) {
      const missing = await lacks(persona, gains);
      if (missing.length > 0) wrong.push(`${persona} sets ${field} of ${type} ${label}: ${missing}`);
    }
    expect(wrong).toEqual([]);
  });
});
