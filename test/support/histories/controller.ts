import type { Numbers, RealRows } from './real-rows.ts';

/** An object of the controller, with the values of its fields as its table has them; references as ids. */
export interface SimulatedObject {
  readonly kind: ObjectKind;
  readonly id: number;
  readonly fields: Record<string, unknown>;
}

/** The kinds of which recorded entries are at hand. */
export type ObjectKind =
  | 'user'
  | 'job_template'
  | 'host'
  | 'inventory'
  | 'project'
  | 'o_auth2_application'
  | 'o_auth2_access_token';

/** An entry of the activity stream, as it is stored. */
export interface SimulatedEntry {
  readonly id: number;
  readonly at: string;
  readonly operation: 'create' | 'update' | 'delete' | 'associate' | 'disassociate';
  /** Null for what the controller writes without an actor. */
  readonly actor: number | null;
  readonly actorName: string | null;
  readonly changes: Readonly<Record<string, unknown>>;
  readonly object1: string;
  readonly object2: string;
  readonly relationship: string;
  readonly setting: { readonly name: string; readonly category: string } | Record<string, never>;
  /** The objects that it is linked to, by kind, until they are deleted. */
  links: (readonly [kind: string, id: number])[];
  /** What it is about: an object, setting, role of a user or link. */
  readonly about: string;
}

/** A role that users can get. */
export interface SimulatedRole {
  readonly id: number;
  readonly field: 'admin_role' | 'execute_role' | 'member_role';
  /** The name of the definition in the newer tables of roles. */
  readonly definition: string;
  readonly about: { readonly kind: 'job_template' | 'organization'; readonly id: number };
}

/** A role that a user has by the newer tables of roles. */
export interface SimulatedAssignment {
  readonly id: number;
  readonly at: string;
  readonly role: SimulatedRole;
  readonly user: number;
  /** Null once the user who made it is deleted. */
  by: number | null;
}

/** Who acts: the id of a user, or null where a controller records none. */
export type Actor = number | null;

const MEMBERS = 'awx.main.models.rbac.Role_members';
const CREDENTIALS = 'awx.main.models.unified_jobs.UnifiedJobTemplate_credentials';
const RELATIONSHIPS = {
  job_template: 'awx.main.models.jobs.JobTemplate',
  organization: 'awx.main.models.organization.Organization',
} as const;

/** What the fields of references are about. */
const REFERENCES: Readonly<Record<string, ObjectKind | 'organization'>> = {
  project: 'project',
  inventory: 'inventory',
  organization: 'organization',
};

/** Longer than the clock of a controller is expected to be wrong, in milliseconds. */
const BEFORE_MS = 5_400_000;

/**
 * A controller 24.6.1 in memory, as far as its activity stream goes: it makes the rows and the entries that were seen of the real
 * one for each act. Requests that change nothing leave no entry.
 */
export class SimulatedController {
  readonly objects = new Map<string, SimulatedObject>();
  readonly entries: SimulatedEntry[] = [];
  readonly roles: SimulatedRole[] = [];
  /** Role and user, with the id of the row. */
  readonly members = new Map<string, { readonly id: number; readonly role: number; readonly user: number }>();
  readonly assignments = new Map<number, SimulatedAssignment>();
  /** Templates with the credentials that they use. */
  readonly linked = new Map<
    string,
    { readonly id: number; readonly template: number; readonly credential: number }
  >();
  readonly settings = new Map<string, { readonly id: number; value: unknown }>();
  /** The rows of settings that were made before the activity stream began: no entry has their names. */
  readonly unnamed: { readonly id: number; readonly name: string }[] = [];
  /** Entries that were deleted, as a management job and SQL do it. */
  readonly wiped: SimulatedEntry[] = [];
  /** Whether nothing was left of the stream once. */
  isEmptied = false;
  readonly #numbers: Numbers;
  readonly #real: RealRows;
  #clock: number;

  constructor(options: { readonly numbers: Numbers; readonly real: RealRows; readonly start: Date }) {
    this.#numbers = options.numbers;
    this.#real = options.real;
    // The entry before all others: numbers that an earlier history left without an entry are not missing in this one.
    this.#clock = options.start.getTime() - BEFORE_MS;
    this.#record({ operation: 'update', actor: null, object1: 'user', changes: {}, links: [] });
    this.#clock = options.start.getTime();
  }

  /** The time, which goes on by a second with each act. */
  get now(): string {
    return new Date(this.#clock).toISOString();
  }

  /** An object that was there before. */
  seed(kind: ObjectKind, fields: Readonly<Record<string, unknown>>): SimulatedObject {
    const at = new Date(this.#clock - 365 * 86_400_000).toISOString();
    const written: Record<string, unknown> = {
      created: at,
      created_by: null,
      modified: at,
      modified_by: null,
    };
    const made = { kind, id: this.#numbers.next(), fields: { ...written, ...fields } };
    this.objects.set(keyOf(made), made);
    const inventory = this.objects.get(`inventory:${String(made.fields['inventory'])}`);
    if (kind === 'host' && inventory !== undefined)
      inventory.fields['total_hosts'] = Number(inventory.fields['total_hosts'] ?? 0) + 1;
    return made;
  }

  /** A setting that was set before. */
  seedSetting(name: string, value: unknown): void {
    const id = this.#numbers.next();
    this.settings.set(name, { id, value });
    this.unnamed.push({ id, name });
  }

  seedRole(role: Omit<SimulatedRole, 'id'>): SimulatedRole {
    const made = { ...role, id: this.#numbers.next() };
    this.roles.push(made);
    return made;
  }

  /** The name of an object now. */
  nameOf(kind: string, id: number): string {
    const fields = this.objects.get(`${kind}:${id}`)?.fields ?? {};
    return String(fields['username'] ?? fields['name'] ?? this.#real.names.get(`${kind}:${id}`) ?? '');
  }

  create(actor: Actor, kind: ObjectKind, fields: Readonly<Record<string, unknown>>): SimulatedObject {
    this.#clock += 1000;
    const written = { created_by: actor, modified: this.now, modified_by: actor };
    const made = this.seed(kind, { ...written, ...fields, created: this.now, date_joined: this.now });
    if (kind === 'host') this.#count(actor, made.fields['inventory'], 1);
    this.#record({
      operation: 'create',
      actor,
      object1: kind,
      changes: this.#whole(made),
      links: [[kind, made.id]],
    });
    return made;
  }

  /** Makes hosts in bulk: they have no entry and no maker, and the number of hosts of the inventory changes. */
  createInBulk(
    actor: Actor,
    all: readonly (Readonly<Record<string, unknown>> & { readonly inventory: number })[],
  ): readonly SimulatedObject[] {
    this.#clock += 1000;
    const written = { created: this.now, modified: this.now };
    const made = all.map((fields) => this.seed('host', { ...written, ...fields }));
    this.#count(actor, all[0]?.inventory, made.length);
    return made;
  }

  /** The number of hosts of an inventory, as the controller counts it: in the name of who made or deleted them. */
  #count(actor: Actor, inventory: unknown, more: number): void {
    const object = this.objects.get(`inventory:${String(inventory)}`);
    if (object === undefined) return;
    const now = Number(object.fields['total_hosts'] ?? 0);
    this.#record({
      ...{ operation: 'update', actor, object1: 'inventory', links: [['inventory', object.id]] },
      ...{ changes: { total_hosts: [now - more, now] }, about: `inventory:${object.id}:hosts` },
    });
  }

  /** Deletes entries, and says which. The names of settings are known by entries alone. */
  wipe(isMeant: (entry: SimulatedEntry) => boolean): readonly SimulatedEntry[] {
    const gone = this.entries.filter(isMeant);
    this.wiped.push(...gone);
    this.entries.splice(0, this.entries.length, ...this.entries.filter((each) => !gone.includes(each)));
    for (const { object1, about, changes } of gone) {
      const name = about.slice('setting:'.length);
      const id = changes['id'] ?? this.settings.get(name)?.id;
      if (object1 === 'setting' && typeof id === 'number') this.unnamed.push({ id, name });
    }
    return gone;
  }

  /** Changes fields; those with the value that they have already are left out. */
  update(
    actor: Actor,
    object: SimulatedObject,
    fields: Readonly<Record<string, unknown>>,
  ): SimulatedEntry | null {
    const changes: Record<string, unknown> = {};
    for (const [field, value] of Object.entries(fields)) {
      const before = this.#recorded(field, object.fields[field]);
      const after = this.#recorded(field, value);
      if (before !== after) changes[field] = [before, after];
      object.fields[field] = value;
    }
    if (Object.keys(changes).length === 0) return null;
    const { kind, id } = object;
    Object.assign(object.fields, {
      modified: new Date(this.#clock + 1000).toISOString(),
      modified_by: actor,
    });
    return this.#record({ operation: 'update', actor, object1: kind, changes, links: [[kind, id]] });
  }

  /** Sets a password, which the controller records without values. */
  setPassword(actor: Actor, user: SimulatedObject): SimulatedEntry {
    const changes = { password: ['hidden', 'hidden'] };
    return this.#record({ operation: 'update', actor, object1: 'user', changes, links: [['user', user.id]] });
  }

  delete(actor: Actor, object: SimulatedObject): void {
    const { kind, id } = object;
    for (const token of [...this.objects.values()]) {
      const isOf = kind === 'user' ? token.fields['user'] === id : token.fields['application'] === id;
      if (token.kind === 'o_auth2_access_token' && kind !== token.kind && isOf) this.delete(actor, token);
    }
    const changes = this.#whole(object);
    this.objects.delete(keyOf(object));
    this.#unlink(kind, id);
    if (kind === 'user') this.#forgetUser(id);
    if (kind === 'job_template') this.#forgetTemplate(id);
    const inventory = this.objects.get(`inventory:${String(object.fields['inventory'])}`);
    if (kind === 'host' && inventory !== undefined) {
      inventory.fields['total_hosts'] = Number(inventory.fields['total_hosts'] ?? 0) - 1;
      this.#count(actor, inventory.id, -1);
    }
    this.#record({
      about: keyOf(object),
      operation: 'delete',
      actor: actor === id && kind === 'user' ? null : actor,
      object1: kind,
      changes,
      links: [],
    });
  }

  #unlink(kind: string, id: number): void {
    for (const entry of this.entries) {
      if (entry.links.some((link) => link[0] === kind && link[1] === id))
        entry.links = entry.links.filter((link) => link[0] !== kind || link[1] !== id);
    }
  }

  #forgetUser(id: number): void {
    for (const { fields } of this.objects.values())
      for (const field of ['created_by', 'modified_by']) if (fields[field] === id) fields[field] = null;
    for (const [key, { user }] of this.members) if (user === id) this.members.delete(key);
    for (const [key, each] of this.assignments) {
      if (each.user === id) this.assignments.delete(key);
      else if (each.by === id) each.by = null;
    }
  }

  #forgetTemplate(id: number): void {
    for (const [key, { template }] of this.linked) if (template === id) this.linked.delete(key);
    const gone = this.roles.filter(({ about }) => about.kind === 'job_template' && about.id === id);
    for (const role of gone) {
      this.roles.splice(this.roles.indexOf(role), 1);
      this.#unlink('role', role.id);
      for (const [key, each] of this.members) if (each.role === role.id) this.members.delete(key);
      for (const [key, each] of this.assignments) if (each.role.id === role.id) this.assignments.delete(key);
    }
  }

  /** Gives a user a role, or takes it away, by the address of the role or by that of the user. */
  setRole(actor: Actor, tie: { role: SimulatedRole; user: number; has: boolean; byUser: boolean }): boolean {
    const { role, user, has, byUser } = tie;
    const key = `${role.id}:${user}`;
    if (this.members.has(key) === has) return false;
    const { kind, id } = role.about;
    const operation = has ? 'associate' : 'disassociate';
    const sides = byUser
      ? { object1: 'user', object1_pk: user, object2: kind, object2_pk: role.id }
      : { object1: kind, object1_pk: id, object2: 'user', object2_pk: user };
    const links: [string, number][] = [
      [kind, id],
      ['role', role.id],
      ['user', user],
    ];
    this.#record({
      ...{ operation, actor, object1: sides.object1, object2: sides.object2, links },
      changes: { ...sides, action: operation, relationship: MEMBERS },
      relationship: `${RELATIONSHIPS[kind]}.${role.field}`,
      about: `role:${role.id}:user:${user}`,
    });
    if (has) {
      this.members.set(key, { id: this.#numbers.next(), role: role.id, user });
      // A user has a role once in the newer tables.
      if (this.#assignmentOf(role, user) === undefined) this.#assign({ at: this.now, role, user, by: actor });
    } else {
      this.members.delete(key);
      this.assignments.delete(this.#assignmentOf(role, user)?.id ?? 0);
    }
    return true;
  }

  /** Gives a role at `/api/v2/role_user_assignments/`, which leaves no entry. */
  assign(actor: Actor, role: SimulatedRole, user: number): SimulatedAssignment | null {
    if (this.#assignmentOf(role, user) !== undefined) return null;
    this.#clock += 1000;
    return this.#assign({ at: this.now, role, user, by: actor });
  }

  #assignmentOf(role: SimulatedRole, user: number): SimulatedAssignment | undefined {
    return [...this.assignments.values()].find((each) => each.role === role && each.user === user);
  }

  #assign(assignment: Omit<SimulatedAssignment, 'id'>): SimulatedAssignment {
    const made = { ...assignment, id: this.#numbers.next() };
    this.assignments.set(made.id, made);
    return made;
  }

  /** Adds a credential to a template, or takes it away. */
  setLink(
    actor: Actor,
    tie: { readonly template: number; readonly credential: number; readonly has: boolean },
  ): boolean {
    const { template, credential, has } = tie;
    const key = `${template}:${credential}`;
    if (this.linked.has(key) === has) return false;
    if (has) this.linked.set(key, { id: this.#numbers.next(), template, credential });
    else this.linked.delete(key);
    const operation = has ? 'associate' : 'disassociate';
    const sides = {
      object1: 'job_template',
      object1_pk: template,
      object2: 'credential',
      object2_pk: credential,
    };
    this.#record({
      ...{ operation, actor, object1: 'job_template', object2: 'credential' },
      changes: { ...sides, action: operation, relationship: CREDENTIALS },
      links: [
        ['job_template', template],
        ['credential', credential],
      ],
      relationship: CREDENTIALS,
      about: `link:credentials:job_template:${template}:credential:${credential}`,
    });
    return true;
  }

  /** Sets a setting, whose row is made the first time; or resets it, which deletes the row. */
  setSetting(actor: Actor, name: string, value: unknown): boolean {
    const known = this.settings.get(name);
    const setting = { name, category: 'authentication' };
    const common = { actor, object1: 'setting', links: [], about: `setting:${name}` };
    if (value === undefined) {
      if (known === undefined) return false;
      this.settings.delete(name);
      // The entry of a reset does not name the setting.
      this.#record({
        ...common,
        operation: 'delete',
        changes: { value: recordedValue(known.value), id: known.id },
      });
      return true;
    }
    if (known === undefined) {
      const id = this.#numbers.next();
      this.settings.set(name, { id, value });
      this.#record({ ...common, setting, operation: 'create', changes: { value: recordedValue(value), id } });
      return true;
    }
    const [before, after] = [recordedValue(known.value), recordedValue(value)];
    if (before === after) return false;
    known.value = value;
    this.#record({ ...common, setting, operation: 'update', changes: { value: [before, after] } });
    return true;
  }

  #whole(object: SimulatedObject): Record<string, unknown> {
    const recorded = this.#real.recorded.get(object.kind) ?? {};
    const fields = Object.keys(recorded).map((field) => {
      const value = Object.hasOwn(object.fields, field) ? object.fields[field] : undefined;
      if (field === 'application')
        return [field, typeof value === 'number' ? this.nameOf('o_auth2_application', value) : null];
      return [field, value === undefined ? recorded[field] : this.#recorded(field, value)];
    });
    return { ...Object.fromEntries(fields), id: object.id };
  }

  #recorded(field: string, value: unknown): unknown {
    const kind = REFERENCES[field];
    if (kind === undefined || typeof value !== 'number') return recordedValue(value);
    return `${this.nameOf(kind, value)}-${value}`;
  }

  #record(
    entry: Pick<SimulatedEntry, 'operation' | 'actor' | 'changes' | 'object1' | 'links'> &
      Partial<SimulatedEntry>,
  ) {
    this.#clock += 1000;
    const made: SimulatedEntry = {
      ...{ id: this.#numbers.nextEntry(), at: this.now, object2: '', relationship: '', setting: {} },
      actorName: entry.actor === null ? null : this.nameOf('user', entry.actor),
      about: entry.links.map(([kind, id]) => `${kind}:${id}`)[0] ?? '',
      ...entry,
    };
    this.entries.push(made);
    return made;
  }
}

/** A value as the activity stream has it: lists and maps as JSON with Python's spaces. */
function recordedValue(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? pythonJson(value) : value;
}

function pythonJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${pythonJson(each)}`);
  return `{${members.join(', ')}}`;
}

/** What names an object. */
export function keyOf({ kind, id }: { kind: string; id: number }): string {
  return `${kind}:${id}`;
}
