import fc from 'fast-check';
import {
  type Actor,
  keyOf,
  type ObjectKind,
  SimulatedController,
  type SimulatedObject,
  type SimulatedRole,
} from './controller.ts';
import {
  difference,
  ENTRY_VALUES,
  type FieldSpec,
  fieldsOf,
  type Parts,
  SETTINGS,
  withParts,
} from './fields.ts';
import type { Numbers, RealRows } from './real-rows.ts';

/** What can be done; often or seldom. */
const WHATS = [
  ...['edit', 'edit', 'edit', 'edit', 'edit', 'edit', 'edit', 'edit', 'edit', 'edit'],
  ...['revert', 'revert', 'revert', 'reformat', 'setting', 'setting', 'setting', 'reset', 'password'],
  ...['rename', 'swap', 'create', 'create', 'delete', 'deactivate', 'role', 'role', 'assign', 'link'],
  ...['token', 'token', 'grant', 'bulk', 'bulk', 'decoy', 'wipe'],
] as const;

/** One act: what each number chooses depends on what there is then, so that any act can follow any other. */
export interface Act {
  readonly what: (typeof WHATS)[number];
  readonly who: number;
  readonly target: number;
  /** How many fields one request changes, and which. */
  readonly fields: readonly { readonly field: number; readonly part: number; readonly value: number }[];
  readonly style: number;
}

const acts = fc.array(
  fc.record({
    what: fc.constantFrom(...WHATS),
    who: fc.nat(11),
    target: fc.nat(30),
    fields: fc.array(fc.record({ field: fc.nat(30), part: fc.nat(30), value: fc.nat(11) }), {
      minLength: 1,
      maxLength: 3,
    }),
    style: fc.nat(11),
  }),
  { minLength: 1, maxLength: 28, size: 'max' },
);

/** Acts, and how many of them came before the period that is investigated: what a later intruder did then was honest. */
export interface Course {
  readonly acts: readonly Act[];
  readonly before: number;
  /** How many objects, fields and settings are edited, so that users meet; all of them for {@link EVERYTHING}. */
  readonly focus: number;
  /** Which of them. */
  readonly first: number;
}

const EVERYTHING = 4;

/** Courses of all lengths. */
export const courses: fc.Arbitrary<Course> = fc.record({
  ...{ acts, before: fc.nat(8), focus: fc.integer({ min: 1, max: EVERYTHING }), first: fc.nat(11) },
});

/** One change of a field, as its author meant it. */
export interface Operation {
  /** In the order of the whole history. */
  readonly step: number;
  readonly by: Actor;
  readonly sets: readonly (readonly [part: string, value: unknown])[];
  /** What the field was before, and is after. */
  readonly before: { readonly parts: Parts; readonly stored: unknown };
  readonly after: { readonly parts: Parts; readonly stored: unknown };
}

/** All that was done to one field. */
export interface FieldLog {
  readonly spec: FieldSpec;
  readonly initial: Parts;
  readonly operations: Operation[];
  parts: Parts;
  stored: unknown;
}

/** All that was done to one object, setting, role of a user or link. */
export interface ObjectLog {
  readonly key: string;
  readonly kind: string;
  /** Who made it in the period. */
  readonly made: { readonly by: Actor; readonly step: number } | null;
  deleted: { readonly by: Actor; readonly step: number } | null;
  readonly fields: Map<string, FieldLog>;
}

/** That a user came to be able to act as another one. */
export interface Takeover {
  readonly step: number;
  readonly by: Actor;
  readonly user: number;
  readonly how: 'made' | 'password_set';
  /** The entry that says so. */
  readonly entry: number | null;
}

/** Hosts that a user made in bulk. */
export interface BulkLog {
  readonly by: Actor;
  readonly step: number;
  readonly inventory: number;
  readonly entry: number | null;
  readonly hosts: readonly number[];
}

/** A token: who asked for it, and whose it is. */
export interface TokenLog {
  readonly id: number;
  readonly user: number;
  readonly application: number | null;
  readonly by: Actor;
  readonly step: number;
  readonly viaEndpoint: boolean;
}

const NAMES = ['ann', 'bea', 'ivy', 'jon', 'vic', 'liam', 'dora', 'max'];
/** The fields of new objects that are edited later. */
const TEMPLATE = {
  ...{
    playbook: 'hello_world.yml',
    extra_vars: '',
    limit: '',
    job_tags: '',
    skip_tags: '',
    become_enabled: false,
  },
  ...{ verbosity: 0, description: '', host_config_key: '' },
};
const APPLICATION = {
  redirect_uris: 'https://a.org/cb',
  skip_authorization: false,
  client_type: 'confidential',
};
const EDITED: ReadonlySet<string> = new Set([
  ...['job_template', 'host', 'inventory', 'project', 'o_auth2_application', 'user'],
]);
const TIE: FieldSpec = {
  field: '',
  shape: 'single',
  pool: [],
  matters: true,
  stored: (parts) => parts.get(''),
};
const NAME: FieldSpec = { ...TIE, field: 'name', matters: false };
const USERNAME: FieldSpec = { ...TIE, field: 'username' };

/** A history: a controller on which acts are done, and what each act was meant to do. */
export class History {
  readonly controller: SimulatedController;
  readonly logs = new Map<string, ObjectLog>();
  readonly takeovers: Takeover[] = [];
  readonly tokens: TokenLog[] = [];
  readonly bulk: BulkLog[] = [];
  /** The acts in words. */
  readonly lines: string[] = [];
  /** The users by their parts; what each is called at the beginning is in `names`. */
  readonly accounts: {
    readonly honest: readonly number[];
    readonly intruders: readonly number[];
    readonly victim: number;
  };
  readonly names: Map<number, string>;
  readonly #course: Course;
  readonly #suffix: string;
  readonly #projects: readonly number[];
  #step = 0;
  /** The first step of the period that is investigated, and when that begins. */
  firstStep = 0;
  since = new Date(0);
  /** The intruders that there are then. */
  subjects: readonly number[] = [];

  private constructor(options: Readonly<{ numbers: Numbers; real: RealRows; start: Date; course: Course }>) {
    const controller = new SimulatedController(options);
    this.controller = controller;
    this.#course = options.course;
    this.#suffix = `-${options.numbers.next()}`;
    const joined = new Date(options.start.getTime() - 365 * 86_400_000).toISOString();
    const [ann = 0, bea = 0, ivy = 0, jon = 0, vic = 0] = NAMES.slice(0, 5).map((name, index) => {
      const fields = {
        username: name + this.#suffix,
        email: 'a@example.org',
        is_superuser: index < 4,
        is_active: true,
      };
      return this.#log(controller.seed('user', { ...fields, date_joined: joined })).id;
    });
    this.accounts = { honest: [ann, bea], intruders: [ivy, jon], victim: vic };
    this.names = new Map([ann, bea, ivy, jon, vic].map((id) => [id, controller.nameOf('user', id)]));
    const project = controller.seed('project', {
      name: `shop${this.#suffix}`,
      scm_url: 'https://example.org/a.git',
      scm_branch: '',
      organization: 1,
    });
    this.#projects = [project.id, 6];
    const inventory = controller.seed('inventory', {
      name: `shop${this.#suffix}`,
      variables: '',
      description: '',
      organization: 1,
    });
    const host = {
      name: `web${this.#suffix}`,
      inventory: inventory.id,
      variables: 'region: east\n',
      enabled: true,
    };
    const application = { ...APPLICATION, name: `sync${this.#suffix}`, organization: 1 };
    const templates = ['deploy', 'backup'].map((name) =>
      controller.seed('job_template', {
        ...{ ...TEMPLATE, name: name + this.#suffix, project: project.id, inventory: inventory.id },
        ...{ extra_vars: '{"region": "east"}', limit: 'web', job_tags: 'setup', skip_tags: 'checks' },
      }),
    );
    for (const object of [project, inventory, ...templates]) this.#log(object);
    this.#log(controller.seed('host', host));
    this.#log(controller.seed('o_auth2_application', application));
    for (const { id } of templates) {
      const about = { kind: 'job_template', id } as const;
      controller.seedRole({ field: 'admin_role', definition: 'JobTemplate Admin', about });
      controller.seedRole({ field: 'execute_role', definition: 'JobTemplate Execute', about });
    }
    controller.seedRole({
      field: 'member_role',
      definition: 'Organization Member',
      about: { kind: 'organization', id: 1 },
    });
    for (const spec of SETTINGS) this.#logSetting(spec);
  }

  /** Does all acts. The names that users have when the period begins are those that they are asked for by. */
  static of(
    course: Course,
    options: { readonly numbers: Numbers; readonly real: RealRows; readonly start: Date },
  ): History {
    const history = new History({ ...options, course });
    for (const act of course.acts.slice(0, course.before)) history.do(act);
    history.#begin();
    for (const act of course.acts.slice(course.before)) history.do(act);
    return history;
  }

  #begin(): void {
    this.firstStep = this.#step + 1;
    this.since = new Date(Date.parse(this.controller.now) + 500);
    for (const id of this.names.keys())
      this.names.set(id, this.controller.nameOf('user', id) || (this.names.get(id) ?? ''));
    this.subjects = this.accounts.intruders.filter((id) => this.#user(id) !== undefined);
    this.lines.push('The period begins.');
  }

  /** Does one act; one that is not possible then does nothing. */
  do(act: Act): void {
    this.#step += 1;
    const by = this.#actor(act.who);
    if (by === undefined) return;
    const before = this.controller.entries.length;
    const said = this.#carryOut(act, by);
    if (said === null) return;
    const entries = this.controller.entries.slice(before).map(({ id }) => id);
    this.lines.push(`${this.#who(by)}: ${said} [${entries.join(', ') || 'no entry'}]`);
  }

  #carryOut(act: Act, by: Actor): string | null {
    switch (act.what) {
      case 'edit':
        return this.#edit(act, by);
      case 'revert':
        return this.#revert(act, by);
      case 'reformat':
        return this.#reformat(act, by);
      case 'setting':
      case 'reset':
        return this.#setting(act, by);
      case 'password':
        return this.#password(act, by);
      case 'rename':
        return this.#rename(act, by);
      case 'swap':
        return this.#swap(act, by);
      case 'create':
        return this.#create(act, by);
      case 'delete':
        return this.#delete(act, by);
      case 'deactivate':
        return this.#deactivate(act);
      case 'role':
      case 'assign':
        return this.#role(act, by);
      case 'link':
        return this.#link(act, by);
      case 'bulk':
        return this.#bulk(act, by);
      case 'decoy':
        return this.#decoy(act, by);
      case 'wipe':
        return this.#wipe(act, by);
      default:
        return this.#token(act, by);
    }
  }

  /** Honest users act about as often as intruders; users that were made in the period act as well, and the database's owner. */
  #actor(who: number): Actor | undefined {
    const { honest, intruders, victim } = this.accounts;
    const made = this.takeovers.filter(({ how }) => how === 'made').map(({ user }) => user);
    const all: readonly (Actor | undefined)[] = [
      ...[
        honest[0],
        honest[0],
        honest[1],
        intruders[0],
        intruders[0],
        intruders[0],
        intruders[1],
        intruders[1],
      ],
      ...[victim, made.at(-1) ?? victim, made[0] ?? honest[0], null],
    ];
    const chosen = all[who % all.length];
    if (chosen === null || chosen === undefined) return chosen;
    return this.#user(chosen)?.fields['is_active'] === true ? chosen : undefined;
  }

  #who(by: Actor): string {
    if (by === null) return 'no actor';
    const { honest, intruders } = this.accounts;
    const part = honest.includes(by) ? 'honest' : intruders.includes(by) ? 'intruder' : 'user';
    return `${part} ${by} (${this.controller.nameOf('user', by)})`;
  }

  #user(id: number): SimulatedObject | undefined {
    return this.controller.objects.get(`user:${id}`);
  }

  /** Those of some that the course is about. */
  #meant<Each>(all: readonly Each[]): readonly Each[] {
    const { focus, first } = this.#course;
    if (focus === EVERYTHING) return all;
    return all.map((_, index) => all[(index + first) % all.length] as Each).slice(0, focus);
  }

  /** One of the objects of some kinds, by number. */
  #pick(number: number, kinds: readonly ObjectKind[]): SimulatedObject | undefined {
    const all = [...this.controller.objects.values()].filter(({ kind }) => kinds.includes(kind));
    return all[number % all.length];
  }

  #log(object: SimulatedObject, made: ObjectLog['made'] = null): SimulatedObject {
    const fields = new Map<string, FieldLog>();
    const named = object.kind === 'user' ? [USERNAME] : object.kind === 'job_template' ? [NAME] : [];
    for (const spec of [...named, ...fieldsOf(object.kind, { projects: [] })]) {
      const stored = object.fields[spec.field];
      const parts = initialParts(spec, stored);
      fields.set(spec.field, { spec, initial: parts, operations: [], parts, stored });
    }
    this.logs.set(keyOf(object), { key: keyOf(object), kind: object.kind, made, deleted: null, fields });
    return object;
  }

  #logSetting(spec: FieldSpec): void {
    const name = spec.field;
    const isSet = spec.shape === 'map' || spec.field === 'SESSION_COOKIE_AGE';
    const parts: Parts = new Map<string, unknown>(
      isSet ? [spec.shape === 'map' ? ['region', 'east'] : ['', 1800]] : [],
    );
    const stored = isSet ? spec.stored(parts, 0) : undefined;
    // Of one the entry is at hand; the other was set before the activity stream began.
    if (isSet && spec.shape === 'map')
      this.controller.setSetting(this.accounts.honest[0] ?? null, name, stored);
    else if (isSet) this.controller.seedSetting(name, stored);
    const field: FieldLog = { spec, initial: parts, operations: [], parts, stored };
    this.logs.set(`setting:${name}`, {
      ...{ key: `setting:${name}`, kind: 'setting', made: null, deleted: null },
      fields: new Map([[name, field]]),
    });
  }

  #edit(act: Act, by: Actor): string | null {
    const all = [...this.controller.objects.values()].filter(({ kind }) => EDITED.has(kind));
    const some = this.#meant(all);
    const object = some[act.target % some.length];
    const log = object && this.logs.get(keyOf(object));
    if (object === undefined || log === undefined) return null;
    const editable = fieldsOf(object.kind, { projects: this.#projects }).filter(
      ({ shape }) => shape !== 'secret',
    );
    const specs = this.#meant(editable);
    const changed = new Map<string, Parts>();
    for (const { field, part, value } of act.fields) {
      const spec = specs[field % specs.length];
      const known = spec && log.fields.get(spec.field);
      if (spec === undefined || known === undefined) continue;
      changed.set(spec.field, edited(spec, changed.get(spec.field) ?? known.parts, { part, value }));
    }
    const fields = [...changed].map(([name, parts]) => {
      const spec = specs.find(({ field }) => field === name);
      const stored = spec?.stored(parts, act.style);
      return [name, { parts, stored }] as const;
    });
    const isChanged = ([name, { parts }]: (typeof fields)[number]) =>
      difference(log.fields.get(name)?.parts ?? new Map(), parts).length > 0;
    return this.#update(object, by, new Map(fields.filter(isChanged)));
  }

  #update(
    object: SimulatedObject,
    by: Actor,
    fields: ReadonlyMap<string, { parts: Parts; stored: unknown }>,
  ): string | null {
    const stored = Object.fromEntries([...fields].map(([name, each]) => [name, each.stored]));
    if (this.controller.update(by, object, stored) === null) return null;
    for (const [name, after] of fields) this.#note(keyOf(object), name, { by, after });
    return `set ${JSON.stringify(stored)} of ${keyOf(object)}`;
  }

  /** Notes a change of a field as its author meant it. */
  #note(key: string, field: string, { by, after }: Pick<Operation, 'by' | 'after'>): void {
    const log = this.logs.get(key)?.fields.get(field);
    if (log === undefined) throw new Error(`no field ${field} of ${key}`);
    const sets = difference(log.parts, after.parts);
    log.operations.push({
      step: this.#step,
      by,
      sets,
      before: { parts: log.parts, stored: log.stored },
      after,
    });
    log.parts = after.parts;
    log.stored = after.stored;
  }

  /** Sets a field back to what it was before one of its changes, as a whole. */
  #revert(act: Act, by: Actor): string | null {
    const all = [...this.logs.values()].flatMap((log) =>
      [...log.fields.values()].flatMap(({ spec, operations }) =>
        spec.shape === 'secret' || spec.field === '' || spec === NAME || spec === USERNAME
          ? []
          : operations.map(({ before }) => ({ log, field: spec.field, before })),
      ),
    );
    const chosen = all[(act.target * 7 + act.style) % all.length];
    if (chosen === undefined) return null;
    const { log, field, before } = chosen;
    if (log.kind === 'setting') return this.#set(log, by, before);
    const object = this.controller.objects.get(log.key);
    return object === undefined ? null : this.#update(object, by, new Map([[field, before]]));
  }

  /** Writes a map another way. */
  #reformat(act: Act, by: Actor): string | null {
    const object = this.#pick(act.target, ['job_template', 'host', 'inventory']);
    const log = object && this.logs.get(keyOf(object));
    const known = [...(log?.fields.values() ?? [])].find(({ spec }) => spec.shape === 'map');
    if (object === undefined || known === undefined) return null;
    const spec = fieldsOf(object.kind, { projects: [] }).find(({ field }) => field === known.spec.field);
    const stored = spec?.stored(known.parts, act.style);
    return this.#update(object, by, new Map([[known.spec.field, { parts: known.parts, stored }]]));
  }

  #setting(act: Act, by: Actor): string | null {
    const some = this.#meant(SETTINGS);
    const spec = some[act.target % some.length];
    const log = spec && this.logs.get(`setting:${spec.field}`);
    const [choice] = act.fields;
    const [field] = log?.fields.values() ?? [];
    if (spec === undefined || log === undefined || field === undefined || choice === undefined) return null;
    if (act.what === 'reset') return this.#set(log, by, { parts: new Map(), stored: undefined });
    const parts = edited(spec, field.parts, choice);
    return this.#set(log, by, { parts, stored: spec.stored(parts, act.style) });
  }

  #set(log: ObjectLog, by: Actor, after: Operation['after']): string | null {
    const name = log.key.slice('setting:'.length);
    if (!this.controller.setSetting(by, name, after.stored)) return null;
    this.#note(log.key, name, { by, after });
    return after.stored === undefined ? `reset ${name}` : `set ${name} to ${JSON.stringify(after.stored)}`;
  }

  #password(act: Act, by: Actor): string | null {
    const user = this.#pick(act.target, ['user']);
    if (user === undefined) return null;
    this.controller.setPassword(by, user);
    this.#note(keyOf(user), 'password', {
      by,
      after: { parts: new Map([['', this.#step]]), stored: this.#step },
    });
    if (by !== user.id) this.#takeOver(by, user.id, 'password_set');
    return `set the password of ${keyOf(user)}`;
  }

  /** By the last entry. */
  #takeOver(by: Actor, user: number, how: Takeover['how']): void {
    const entry = this.controller.entries.at(-1)?.id ?? null;
    this.takeovers.push({ step: this.#step, by, user, how, entry });
  }

  /** Makes hosts in bulk, which have no entry of their own. */
  #bulk(act: Act, by: Actor): string | null {
    const inventory = this.#pick(act.target, ['inventory'])?.id;
    if (inventory === undefined || by === null) return null;
    const hosts = this.controller.createInBulk(
      by,
      Array.from({ length: 1 + (act.style % 3) }, (_, index) => ({
        ...{ name: `bulk-${this.#step}-${index}${this.#suffix}`, inventory },
        ...{ variables: '', enabled: true },
      })),
    );
    for (const host of hosts) this.#log(host);
    const entry = this.controller.entries.at(-1)?.id ?? null;
    this.bulk.push({ by, step: this.#step, inventory, entry, hosts: hosts.map(({ id }) => id) });
    return `made ${hosts.length} hosts in bulk in inventory:${inventory}`;
  }

  /** Renames a user, and makes another one with the name. */
  #decoy(act: Act, by: Actor): string | null {
    const user = this.#pick(act.target, ['user']);
    if (user === undefined) return null;
    const name = this.controller.nameOf('user', user.id);
    if (this.#setName(user, by, `was-${this.#step}-${name}`) === null) return null;
    const fields = { username: name, email: 'd@example.org', is_superuser: false, is_active: true };
    const made = this.#log(this.controller.create(by, 'user', fields), { by, step: this.#step });
    this.#takeOver(by, made.id, 'made');
    return `renamed ${keyOf(user)}, and made ${keyOf(made)} with the name ${name}`;
  }

  /** Empties the stream in whole, of one user, or in a range of the period; a stream is older than the period otherwise. */
  #wipe(act: Act, by: Actor): string | null {
    if (this.firstStep === 0) return null;
    const period = this.controller.entries.filter(({ at }) => new Date(at) >= this.since);
    const from = (act.fields[0]?.part ?? 0) % Math.max(1, period.length);
    const range = new Set(period.slice(from, from + 1 + (act.fields[0]?.value ?? 0)));
    const mode = act.style % 4;
    if (mode === 0) this.controller.isEmptied = true;
    const gone = this.controller.wipe(
      (entry) => mode === 0 || (mode === 1 ? entry.actor === by && period.includes(entry) : range.has(entry)),
    );
    return gone.length === 0 ? null : `deleted the entries ${gone.map(({ id }) => id).join(', ')}`;
  }

  #rename(act: Act, by: Actor): string | null {
    const object = this.#pick(act.target, ['user', 'job_template']);
    const name = (NAMES[act.style % NAMES.length] ?? '') + this.#suffix;
    return object === undefined || this.#isTaken(object.kind, name) ? null : this.#setName(object, by, name);
  }

  /** Whether another object of the kind has a name; of applications, one of the same organization. */
  #isTaken(kind: string, name: string, organization?: number): boolean {
    return [...this.controller.objects.values()].some(
      (each) =>
        each.kind === kind &&
        this.controller.nameOf(kind, each.id) === name &&
        (organization === undefined || each.fields['organization'] === organization),
    );
  }

  #setName(object: SimulatedObject, by: Actor, name: string): string | null {
    const field = object.kind === 'user' ? 'username' : 'name';
    return this.#update(object, by, new Map([[field, { parts: new Map([['', name]]), stored: name }]]));
  }

  #swap(act: Act, by: Actor): string | null {
    const kind = act.style % 3 === 0 ? 'job_template' : 'user';
    const [one, other] = [
      this.#pick(act.target, [kind]),
      this.#pick(act.target + 1 + (act.style % 2), [kind]),
    ];
    if (one === undefined || other === undefined || one === other) return null;
    const [first, second] = [this.controller.nameOf(kind, one.id), this.controller.nameOf(kind, other.id)];
    this.#setName(one, by, `swap${this.#suffix}`);
    this.#setName(other, by, first);
    this.#setName(one, by, second);
    return `swapped the names of ${keyOf(one)} and ${keyOf(other)}`;
  }

  #create(act: Act, by: Actor): string | null {
    const name = (NAMES[act.style % NAMES.length] ?? '') + this.#suffix;
    const kind =
      (['user', 'user', 'host', 'job_template', 'o_auth2_application'] as const)[act.target % 5] ?? 'user';
    const inventory = this.#pick(0, ['inventory'])?.id ?? 1;
    const organization = 1 + (act.style % 2);
    if (this.#isTaken(kind, name, kind === 'o_auth2_application' ? organization : undefined)) return null;
    const made = this.controller.create(by, kind, {
      ...(kind === 'user'
        ? { username: name, email: 'c@example.org', is_superuser: act.target > 15, is_active: true }
        : { name }),
      ...(kind === 'host' && { inventory, variables: 'cmd: true\n', enabled: true }),
      ...(kind === 'job_template' && {
        ...TEMPLATE,
        playbook: 'evil.yml',
        inventory,
        project: this.#projects[0],
      }),
      ...(kind === 'o_auth2_application' && {
        ...APPLICATION,
        redirect_uris: 'https://b.org/cb',
        organization,
      }),
    });
    this.#log(made, { by, step: this.#step });
    if (kind === 'user') this.#takeOver(by, made.id, 'made');
    return `created ${keyOf(made)} (${name})`;
  }

  #delete(act: Act, by: Actor): string | null {
    const object = this.#pick(act.target, ['user', 'host', 'job_template', 'o_auth2_application']);
    // The last account that may act stays; a user who deletes itself is refused.
    if (object === undefined || object.id === by || this.accounts.honest.includes(object.id)) return null;
    const log = this.logs.get(keyOf(object));
    this.controller.delete(by, object);
    if (log !== undefined) log.deleted = { by, step: this.#step };
    return `deleted ${keyOf(object)}`;
  }

  /** As tokenctl does it in the database: the API of this version does not. */
  #deactivate(act: Act): string | null {
    const user = this.#pick(act.target, ['user']);
    if (user === undefined || this.accounts.honest.includes(user.id)) return null;
    const entry = this.controller.update(null, user, { is_active: user.fields['is_active'] !== true });
    return (
      entry && `${user.fields['is_active'] ? 'activated' : 'deactivated'} ${keyOf(user)} in the database`
    );
  }

  /** A role of a user, or a link, as a field with one part. */
  #tie(key: string, kind: string): void {
    if (this.logs.has(key)) return;
    const field: FieldLog = {
      spec: TIE,
      initial: new Map(),
      operations: [],
      parts: new Map(),
      stored: undefined,
    };
    this.logs.set(key, { key, kind, made: null, deleted: null, fields: new Map([['', field]]) });
  }

  #role(act: Act, by: Actor): string | null {
    const { roles } = this.controller;
    const role: SimulatedRole | undefined = roles[act.target % roles.length];
    const user = this.#pick(act.fields[0]?.part ?? 0, ['user']);
    if (role === undefined || user === undefined) return null;
    if (act.what === 'assign') {
      if (by === null) return null;
      const made = this.controller.assign(by, role, user.id);
      if (made === null) return null;
      const key = `role_user_assignment:${made.id}`;
      this.logs.set(key, {
        key,
        kind: 'role_user_assignment',
        made: { by, step: this.#step },
        deleted: null,
        fields: new Map(),
      });
      return `assigned ${role.definition} (${role.id}) to ${keyOf(user)} as ${made.id}`;
    }
    const has = act.style % 3 !== 0;
    if (!this.controller.setRole(by, { role, user: user.id, has, byUser: act.style % 2 === 0 })) return null;
    const key = `role:${role.id}:user:${user.id}`;
    this.#tie(key, 'role');
    this.#note(key, '', { by, after: { parts: new Map(has ? [['', true]] : []), stored: has || undefined } });
    return `${has ? 'granted' : 'removed'} ${key}`;
  }

  #link(act: Act, by: Actor): string | null {
    const template = this.#pick(act.target, ['job_template'])?.id;
    const credential = 1 + (act.style % 2);
    const has = act.who % 2 === 0 || act.target % 3 !== 0;
    if (template === undefined || !this.controller.setLink(by, { template, credential, has })) return null;
    const key = `link:credentials:job_template:${template}:credential:${credential}`;
    this.#tie(key, 'link');
    this.#note(key, '', { by, after: { parts: new Map(has ? [['', true]] : []), stored: has || undefined } });
    return `${has ? 'added' : 'removed'} ${key}`;
  }

  /** A token that a user makes, by itself or through an application; or one that a user deletes. */
  #token(act: Act, by: Actor): string | null {
    const known = this.#pick(act.target, ['o_auth2_access_token']);
    if (act.style % 5 === 0 && known !== undefined) {
      this.controller.delete(by, known);
      return `deleted ${keyOf(known)}`;
    }
    if (by === null) return null;
    const viaEndpoint = act.what === 'grant';
    const application =
      viaEndpoint || act.style % 4 === 0 ? this.#pick(act.target, ['o_auth2_application'])?.id : undefined;
    if (viaEndpoint && application === undefined) return null;
    const fields = {
      user: by,
      application: application ?? null,
      scope: act.style % 2 ? 'read' : 'write',
      description: '',
    };
    const made = this.controller.create(viaEndpoint ? null : by, 'o_auth2_access_token', fields);
    this.tokens.push({
      id: made.id,
      user: by,
      application: application ?? null,
      by,
      step: this.#step,
      viaEndpoint,
    });
    return `got ${keyOf(made)} ${viaEndpoint ? 'at the token endpoint' : ''} through ${application ?? 'no application'}`;
  }
}

/** A value with one part changed: a member is taken out if it is there, an entry of a map by one value in four. */
function edited(spec: FieldSpec, parts: Parts, by: { readonly part: number; readonly value: number }): Parts {
  const { pool, shape } = spec;
  const chosen = pool[by.part % pool.length];
  if (shape === 'single' || shape === 'withheld') return new Map([['', pool[by.value % pool.length]]]);
  const part = String(chosen);
  if (shape !== 'map' || part.includes('['))
    return withParts(parts, [[part, parts.has(part) ? undefined : true]]);
  return withParts(parts, [
    [part, by.value % 4 === 3 ? undefined : ENTRY_VALUES[by.value % ENTRY_VALUES.length]],
  ]);
}

/** The parts of the values that objects begin with. */
function initialParts({ shape, field }: FieldSpec, stored: unknown): Parts {
  if (stored === undefined || stored === null) return new Map();
  if (shape === 'single' || shape === 'withheld') return new Map([['', stored]]);
  const text = String(stored);
  if (text === '') return new Map();
  if (shape === 'map') return text.includes('cmd') ? new Map([['cmd', true]]) : new Map([['region', 'east']]);
  return new Map(text.split(field === 'redirect_uris' ? ' ' : ',').map((each) => [each, true]));
}
