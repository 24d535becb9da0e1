import { isDeepStrictEqual } from 'node:util';
import { until } from '@tokenctl/testing/until.ts';
import { expect } from 'vitest';
import type { Answer, Body, Client } from '../support/service.ts';

/** What the modules of the collection awx.awx ask and send, as its documentation has it. Where Ansible is missing, these requests are played. */

type Values = Readonly<Record<string, unknown>>;

/** A task of a playbook: its name, its module without the collection, and the options of the module. */
export interface Task {
  readonly name: string;
  readonly module: string;
  readonly options: Values;
  readonly register?: string;
}

/** A module for resources with a name. */
interface NamedModule {
  readonly collection: string;
  readonly identity?: 'username';
  /** The option that says where the resource is: its names are looked up, and its id narrows the look-up. */
  readonly within?: 'organization' | 'inventory';
  /** Further options with the name of another resource. */
  readonly names?: readonly string[];
  /** Options that become a text: a mapping as JSON, a list with spaces. */
  readonly texts?: readonly string[];
  /** Fields that are sent as null where the task does not have them. */
  readonly always?: readonly string[];
  /** Options with names of members, by the address of the members. */
  readonly members?: Readonly<Record<string, string>>;
}

const COLLECTIONS: Readonly<Record<string, string>> = {
  organization: 'organizations',
  inventory: 'inventories',
  project: 'projects',
  application: 'applications',
  team: 'teams',
  target_team: 'teams',
  user: 'users',
  job_template: 'job_templates',
  group: 'groups',
  host: 'hosts',
};

const NAMED: Readonly<Record<string, NamedModule>> = {
  organization: { collection: 'organizations' },
  team: { collection: 'teams', within: 'organization' },
  user: { collection: 'users', identity: 'username' },
  application: { collection: 'applications', within: 'organization', texts: ['redirect_uris'] },
  project: { collection: 'projects', within: 'organization' },
  inventory: {
    ...{ collection: 'inventories', within: 'organization', texts: ['variables'] },
    always: ['kind', 'host_filter'],
  },
  host: { collection: 'hosts', within: 'inventory', texts: ['variables'] },
  group: {
    ...{ collection: 'groups', within: 'inventory', texts: ['variables'] },
    members: { hosts: 'hosts', children: 'groups' },
  },
  job_template: {
    ...{ collection: 'job_templates', within: 'organization', texts: ['extra_vars'] },
    names: ['inventory', 'project'],
  },
};

/** Options that are for the module itself. */
const OWN_OPTIONS = [
  ...['state', 'update_secrets', 'preserve_existing_hosts', 'preserve_existing_children'],
  ...['hosts', 'children'],
];

/** Plays tasks by their requests, and returns the names of those that changed something. */
export async function playRequests(client: Client, tasks: readonly Task[]): Promise<readonly string[]> {
  const player = new Player(client);
  const changed: string[] = [];
  for (const task of tasks) if (await player.play(task)) changed.push(task.name);
  return changed;
}

class Player {
  readonly #client: Client;
  readonly #registered: Record<string, unknown> = {};

  constructor(client: Client) {
    this.#client = client;
  }

  /** Whether a task changes something. */
  async play({ module, options: written, register }: Task): Promise<boolean> {
    const options = Object.fromEntries(
      Object.entries(written).map(([name, value]) => [name, this.#filledIn(value)]),
    );
    const named = NAMED[module];
    if (named !== undefined) return this.#playNamed(named, options);
    switch (module) {
      case 'settings':
        return this.#playSettings(options);
      case 'role':
        return this.#playRole(options);
      case 'token':
        return this.#playToken(options, register);
      case 'job_launch':
        return this.#launch(options, register);
      case 'job_wait':
        return this.#waitFor(`/api/v2/jobs/${options['job_id']}/`);
      default:
        throw new Error(`No requests are known of the module ${module}`);
    }
  }

  /** Puts what earlier tasks registered in place of `{{ name.member }}`. */
  #filledIn(value: unknown): unknown {
    const path = typeof value === 'string' ? /^\{\{ ([\w.]+) \}\}$/.exec(value)?.[1]?.split('.') : undefined;
    return path === undefined
      ? value
      : path.reduce<unknown>((found, name) => (found as Values)[name], this.#registered);
  }

  /** What an answer says; nothing for an empty one. */
  async #ok(answer: Promise<Answer>, statuses = [200]): Promise<Body> {
    const given = await answer;
    const { text, status } = given;
    expect([text, statuses.includes(status), status]).toEqual([text, true, status]);
    return text === '' ? ({} as Body) : given.json;
  }

  /** The resource of a name, or null. */
  async #find(collection: string, name: unknown, within: Values = {}): Promise<Body | null> {
    const identity = collection === 'users' ? 'username' : 'name';
    const query = new URLSearchParams({ ...(within as Record<string, string>), [identity]: String(name) });
    const { count, results } = await this.#ok(this.#client.get(`/api/v2/${collection}/?${query}`));
    expect([collection, name, Number(count) <= 1]).toEqual([collection, name, true]);
    return results[0] ?? null;
  }

  async #idOf(kind: string, name: unknown, within: Values = {}): Promise<number> {
    const found = await this.#find(COLLECTIONS[kind] ?? kind, name, within);
    if (found === null) throw new Error(`No ${kind} ${name}`);
    return found.id;
  }

  async #playNamed(module: NamedModule, options: Values): Promise<boolean> {
    const { collection, identity = 'name', within, members = {} } = module;
    const { state = 'present', organization } = options;
    const owner =
      within === undefined || options[within] === undefined
        ? {}
        : { [within]: await this.#idOf(within, options[within]) };
    const before = await this.#find(collection, options[identity], owner);
    if (state === 'absent') {
      if (before !== null) await this.#ok(this.#client.delete(String(before['url'])), [202, 204]);
      return before !== null;
    }
    const fields = { ...(await this.#fields(module, options)), ...owner };
    const path =
      collection === 'users' && organization !== undefined
        ? `organizations/${await this.#idOf('organization', organization)}/users`
        : collection;
    const { item, changed } = await this.#createOrUpdate(before, fields, path);
    let isChanged = changed;
    for (const [option, kind] of Object.entries(members)) {
      const wanted = options[option] as readonly string[] | undefined;
      if (wanted === undefined) continue;
      const ids = await Promise.all(wanted.map((name) => this.#idOf(kind, name, owner)));
      const keeps = options[`preserve_existing_${option}`] === true;
      isChanged = (await this.#setMembers(`${item['url']}${option}/`, ids, { keeps })) || isChanged;
    }
    return isChanged;
  }

  /** The fields that a module sends, but that of the owner. */
  async #fields({ collection, names = [], texts = [], always = [] }: NamedModule, options: Values) {
    const fields: Record<string, unknown> = Object.fromEntries(always.map((name) => [name, null]));
    for (const [name, value] of Object.entries(options)) {
      if (OWN_OPTIONS.includes(name) || (collection === 'users' && name === 'organization')) continue;
      if (names.includes(name)) fields[name] = await this.#idOf(name, value);
      else if (texts.includes(name)) fields[name] = asText(value);
      else fields[name] = name === 'scm_type' && value === 'manual' ? '' : value;
    }
    return fields;
  }

  /** Creates a resource, or sends its fields if one of them differs; a change is what the answer shows as different. */
  async #createOrUpdate(before: Body | null, fields: Values, path: string) {
    if (before === null) {
      const item = await this.#ok(this.#client.post(`/api/v2/${path}/`, fields), [201]);
      return { item, changed: true };
    }
    // A password is not shown: the modules compare it with nothing if secrets are not to be updated.
    const compared = Object.keys(fields).filter((name) => name !== 'password');
    if (compared.every((name) => isDeepStrictEqual(before[name], fields[name]))) {
      return { item: before, changed: false };
    }
    const after = await this.#ok(this.#client.patch(String(before['url']), fields));
    return { item: after, changed: !compared.every((name) => isDeepStrictEqual(before[name], after[name])) };
  }

  async #setMembers(path: string, wanted: readonly number[], { keeps }: { keeps: boolean }) {
    const { results } = await this.#ok(this.#client.get(path));
    const now = results.map(({ id }) => Number(id));
    const added = wanted.filter((id) => !now.includes(id));
    const removed = keeps ? [] : now.filter((id) => !wanted.includes(id));
    for (const id of removed) await this.#ok(this.#client.post(path, { id, disassociate: true }), [204]);
    for (const id of added) await this.#ok(this.#client.post(path, { id }), [204]);
    return added.length + removed.length > 0;
  }

  async #playSettings({ name, value, settings }: Values): Promise<boolean> {
    const wanted = (settings ?? { [String(name)]: JSON.parse(String(value)) }) as Values;
    const now = await this.#ok(this.#client.get('/api/v2/settings/all/'));
    if (Object.entries(wanted).every(([key, each]) => isDeepStrictEqual(now[key], each))) return false;
    await this.#ok(this.#client.patch('/api/v2/settings/all/', wanted));
    return true;
  }

  async #playRole(options: Values): Promise<boolean> {
    const { role, state = 'present' } = options;
    const { user = [], team = [], ...objects } = await this.#named(options);
    let isChanged = false;
    for (const item of Object.values(objects).flat()) {
      const { object_roles: roles } = item['summary_fields'] as unknown as {
        readonly object_roles: Readonly<Record<string, Body>>;
      };
      for (const [members, kind] of [
        [user, 'users'],
        [team, 'teams'],
      ] as const) {
        if (members.length === 0) continue;
        const path = `/api/v2/roles/${roles[`${role}_role`]?.id}/${kind}/`;
        isChanged = (await this.#setRole(path, members, state === 'present')) || isChanged;
      }
    }
    return isChanged;
  }

  async #setRole(path: string, members: readonly Body[], isGranted: boolean): Promise<boolean> {
    const { results } = await this.#ok(this.#client.get(path));
    const others = members.filter(({ id }) => results.some((each) => each.id === id) !== isGranted);
    for (const { id } of others) {
      await this.#ok(this.#client.post(path, { id, ...(!isGranted && { disassociate: true }) }), [204]);
    }
    return others.length > 0;
  }

  /** The resources that a task of roles names, in options such as `users` and in their old forms such as `user`. */
  async #named(options: Values): Promise<Readonly<Record<string, readonly Body[]>>> {
    const { lookup_organization: name } = options;
    const within = name === undefined ? {} : { organization: await this.#idOf('organization', name) };
    const found: Record<string, Body[]> = {};
    for (const [kind, collection] of Object.entries(COLLECTIONS)) {
      const plural = kind === 'target_team' ? 'target_teams' : collection;
      const isGlobal = kind === 'organization' || kind === 'user';
      for (const each of [options[kind] ?? [], options[plural] ?? []].flat()) {
        const item = await this.#find(collection, each, isGlobal ? {} : within);
        if (item === null) throw new Error(`No ${kind} ${each}`);
        found[kind] = [...(found[kind] ?? []), item];
      }
    }
    return found;
  }

  async #playToken(options: Values, register = ''): Promise<boolean> {
    const {
      state = 'present',
      application,
      existing_token: given,
      existing_token_id: id,
      ...fields
    } = options;
    if (state === 'absent') {
      const found = (given ??
        (await this.#ok(this.#client.get(`/api/v2/tokens/?id=${id}`))).results[0]) as Body;
      await this.#ok(this.#client.delete(String(found['url'])), [204]);
      return true;
    }
    const named =
      application === undefined ? {} : { application: await this.#idOf('application', application) };
    const token = await this.#ok(this.#client.post('/api/v2/tokens/', { ...fields, ...named }), [201]);
    this.#registered[register] = { ansible_facts: { controller_token: token } };
    return true;
  }

  async #launch(options: Values, register = ''): Promise<boolean> {
    const {
      job_template: name,
      organization,
      inventory,
      tags,
      skip_tags,
      wait,
      interval: _,
      timeout: __,
      ...more
    } = options;
    const template = await this.#find('job_templates', name, {
      organization: await this.#idOf('organization', organization),
    });
    // The modules send no value that is false, zero or empty.
    const sent = Object.entries({
      ...more,
      job_tags: (tags as readonly string[] | undefined)?.join(','),
      skip_tags: (skip_tags as readonly string[] | undefined)?.join(','),
      inventory: inventory === undefined ? undefined : await this.#idOf('inventory', inventory),
    }).filter(([, value]) => Boolean(value));
    const { launch = '' } = (template?.['related'] ?? {}) as { readonly launch?: string };
    const job = await this.#ok(this.#client.post(launch, Object.fromEntries(sent)), [201]);
    this.#registered[register] = job;
    if (wait === true) await this.#waitFor(String(job['url']));
    return true;
  }

  async #waitFor(url: string): Promise<boolean> {
    const read = () => this.#ok(this.#client.get(url));
    const { status } = await until(read, ({ finished }) => finished !== null);
    expect([url, status]).toEqual([url, 'successful']);
    return false;
  }
}

/** A list as words, a mapping as Python writes it in JSON. */
function asText(value: unknown): string {
  if (Array.isArray(value)) return value.join(' ');
  return JSON.stringify(value, null, 1)
    .replaceAll(/\n\s*/g, ' ')
    .replaceAll(/([[{]) | ([\]}])/g, '$1$2');
}
