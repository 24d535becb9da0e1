/** The contents of an incident's snapshots, read once: existing tokens, and what its users had created. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Runtime } from '../../app/runtime.ts';
import type { Incident } from '../../domain/incident/incident.ts';
import { isSameController, listOf, objectOf, textOf } from '../../operations/journal/journal.ts';
import { readIncidentHistories, requireIncident } from '../../operations/journal/recorded-incidents.ts';
import { type CaseOf, controllerOfCase } from './case-controller.ts';
import { CaseFiles } from './case-files.ts';
import type { Theft } from './theft.ts';

/** The maximum size of a file that is read for a page. */
const MAX_BYTES = 200 * 1024 * 1024;
/** The maximum number of tokens, and of created users and tokens, that the page gets. */
const MOST_TOKENS = 200;
const MOST_MADE = 10;
/** The maximum length of a name or description that the page gets. */
const MAX_TEXT = 100;

/** A token that existed when the lockdown began, and that the lockdown did not keep. */
interface SnapshotToken {
  readonly id: number;
  readonly description: string;
  readonly scope: string;
  /** RFC 3339. */
  readonly created: string;
  readonly application: string | null;
  readonly owner: string | null;
}

/** A user, or a token of such a user, from the activity stream of the last hour before the lockdown. */
interface Made {
  readonly user: string;
  /** Its creator: a user of the incident, or one that such a user created. */
  readonly by: string;
  /** When (RFC 3339, by the controller's clock); null if the entry has no time. */
  readonly at: string | null;
  readonly isSuperuser: boolean;
  /** Whether it predates the creation of the stolen token, or the start of the theft, if known. */
  readonly isBefore: boolean;
  /** The open incident that locks it down; null if there is none. */
  readonly lockedIn: string | null;
  /** Its tokens, by id; null for one whose id is not recorded. */
  readonly tokens: readonly (number | null)[];
}

/** When actions became the intruder's; by a person, the stolen token's creation, or a guess. */
export interface Beginning {
  /** RFC 3339, by the controller's clock. */
  readonly at: string;
  readonly is: 'said' | 'token' | 'day before';
}

/** An open lockdown of an account that belongs to the case. */
interface OtherLockdown {
  readonly incident: string;
  /** Whether its lockdown is complete, according to the audit log. */
  readonly isLocked: boolean;
  readonly names: readonly string[];
}

/** What the page of a case gets from the snapshots. */
export interface LockdownSnapshot {
  readonly isInvestigated: boolean;
  /** What was known about the theft at the lockdown. */
  readonly theft: Theft;
  readonly beginning: Beginning;
  /** The other lockdowns of the same theft that were not lifted, according to the audit log. */
  readonly others: readonly OtherLockdown[];
  readonly account: { readonly reason: string; readonly ticket: string };
  /** Newest first; null if no snapshot could be read. */
  readonly tokens: readonly SnapshotToken[] | null;
  readonly moreTokens: number;
  /** Null if no activity was read. `since` (RFC 3339) is the start of the entries that were read. */
  readonly made: { readonly since: string; readonly users: readonly Made[]; readonly more: number } | null;
}

type Row = Readonly<Record<string, unknown>>;

interface FileRead {
  readonly at: string;
  readonly tokens: readonly Row[];
  readonly activity: readonly Row[];
}

/** Reads snapshots, each once: a file in the audit log does not change. */
export class LockdownSnapshots {
  readonly #read = new Map<string, FileRead | null>();

  /**
   * The contents of an incident's snapshots. A missing file, or one that does not match the audit log, counts
   * as unread.
   * @throws TokenctlError `not_found` for an incident that the log does not have, and whatever the context
   * and the log throw.
   */
  async of(runtime: Runtime, of: CaseOf): Promise<LockdownSnapshot> {
    const controller = await controllerOfCase(runtime, of);
    const log = await runtime.auditLog();
    const histories = (await readIncidentHistories(log)).ofController(controller);
    const { incident } = requireIncident(histories, of.incident);
    const [files, active]: [FileRead[], FileRead[]] = [[], []];
    for await (const { data, target } of log.entries(1, { operations: ['incident.lockdown'] })) {
      const [path, sha256] = [textOf(data['file']), textOf(data['sha256'])];
      const isMeant = data['incident'] === incident.id && isSameController(target, controller);
      if (!isMeant || path === undefined || sha256 === undefined) continue;
      const read = this.#read.get(sha256) ?? (await readFileOnce(path, sha256));
      this.#read.set(sha256, read);
      if (read === null) continue;
      files.push(read);
      if (!listOf(data['missing']).includes('activity')) active.push(read);
    }
    const kept = new CaseFiles(runtime.environment, incident.id);
    const last = kept.investigations().at(-1);
    const [theft, found] = [kept.theft(), tokensOf(files, incident)];
    const stolen = found.tokens?.find(({ id }) => id === theft.token)?.created;
    const open = histories.flatMap((each) => each.open);
    const made = madeOf(active, incident, {
      from: Math.max(...[theft.since, stolen].map((at) => (at === undefined ? 0 : Date.parse(at)))),
      open,
    });
    const chain = last === undefined ? [] : kept.investigation(last.name).chain;
    const belonging = new Set([
      ...(made?.users ?? []).flatMap(({ user, isBefore }) => (isBefore ? [] : user)),
      ...chain.flatMap(({ how, user }) => (how === 'subject' ? [] : user.username)),
    ]);
    const others = open.flatMap(({ id, state, scope }): OtherLockdown[] => {
      const names = scope.kind === 'users' ? scope.names : [];
      const isOther = id !== incident.id && names.length > 0;
      const belongs = () =>
        new CaseFiles(runtime.environment, id).theft().of === incident.id ||
        names.every((name) => belonging.has(name));
      const isLocked = state === 'locked';
      return isOther && belongs() ? [{ incident: id, isLocked, names: names.slice(0, MOST_MADE) }] : [];
    });
    return {
      ...{ isInvestigated: last !== undefined, theft, beginning: beginningOf(incident, theft, stolen) },
      account: { reason: incident.reason ?? '', ticket: incident.ticket ?? '' },
      ...{ others, ...found, made },
    };
  }
}

const DAY_MS = 86_400_000;

/** Nothing precedes the token's creation. A guess that is too early lists more, too late misses actions. */
function beginningOf({ since }: Incident, theft: Theft, made: string | undefined): Beginning {
  const given: Beginning =
    theft.since === undefined
      ? { at: new Date(Date.parse(since) - DAY_MS).toISOString(), is: 'day before' }
      : { at: theft.since, is: 'said' };
  return made !== undefined && Date.parse(made) > Date.parse(given.at)
    ? { at: new Date(made).toISOString(), is: 'token' }
    : given;
}

/** Null for a file that cannot be read, is too large, or does not match the audit log. */
async function readFileOnce(path: string, sha256: string): Promise<FileRead | null> {
  try {
    if ((await stat(path)).size > MAX_BYTES) return null;
    const hash = createHash('sha256');
    const rows = new Map<string, Row[]>([
      ['snapshot', []],
      ['access_token', []],
      ['activity', []],
    ]);
    const stream = createReadStream(path);
    stream.on('data', (part) => hash.update(part));
    for await (const line of createInterface({ input: stream })) {
      const [, kind = ''] = /^\{"kind":"(\w+)"/.exec(line) ?? [];
      rows.get(kind)?.push(JSON.parse(line) as Row);
    }
    const at = textOf(rows.get('snapshot')?.[0]?.['at']);
    if (hash.digest('hex') !== sha256 || at === undefined) return null;
    return { at, tokens: rows.get('access_token') ?? [], activity: rows.get('activity') ?? [] };
  } catch {
    return null;
  }
}

function tokensOf(files: readonly FileRead[], { kept }: Incident) {
  if (files.length === 0) return { tokens: null, moreTokens: 0 };
  const found = new Map<number, SnapshotToken>();
  for (const row of files.flatMap(({ tokens }) => tokens)) {
    const { id, created } = row;
    if (typeof id !== 'number' || kept.includes(id)) continue;
    found.set(id, {
      id,
      description: shortText(row['description']) ?? '',
      scope: shortText(row['scope']) ?? '',
      created: textOf(created) ?? '',
      application: shortText(objectOf(row['application'])?.['name']),
      owner: shortText(objectOf(row['user'])?.['username']),
    });
  }
  const all = [...found.values()].sort((one, other) => other.created.localeCompare(one.created));
  return { tokens: all.slice(0, MOST_TOKENS), moreTokens: Math.max(0, all.length - MOST_TOKENS) };
}

/** How far back a snapshot has activity. */
const RECENT_MS = 60 * 60 * 1000;

/** The users that the incident's users created, recursively, and their tokens. */
function madeOf(
  files: readonly FileRead[],
  { scope }: Incident,
  known: {
    /** The start of the intruder's actions, in milliseconds. */
    readonly from: number;
    readonly open: readonly Incident[];
  },
): LockdownSnapshot['made'] {
  const [first] = files;
  if (first === undefined || scope.kind !== 'users') return null;
  const since = new Date(Date.parse(first.at) - RECENT_MS).toISOString();
  const users = new Map<string, Pick<Made, 'by' | 'at' | 'isSuperuser'> & { tokens: Set<number | null> }>();
  const isMeant = (name: string) => scope.names.includes(name) || users.has(name);
  const entries = files
    .flatMap(({ activity }) => activity)
    .filter(({ operation }) => operation === 'create')
    .toSorted((one, other) => (textOf(one['at']) ?? '').localeCompare(textOf(other['at']) ?? ''));
  for (const { object, actor, changes, at } of entries) {
    const by = textOf(objectOf(actor)?.['username']);
    const values = objectOf(changes) ?? {};
    if (by === undefined || !isMeant(by)) continue;
    const name = textOf(values['username']);
    if (object === 'user' && name !== undefined && !isMeant(name)) {
      const isSuperuser = values['is_superuser'] === true;
      users.set(name, { by, at: textOf(at) ?? null, isSuperuser, tokens: new Set() });
    }
    if (object === 'o_auth2_access_token') {
      const { id } = values;
      users.get(by)?.tokens.add(typeof id === 'number' ? id : null);
    }
  }
  const lockedIn = (name: string) =>
    known.open.find(
      ({ state, scope: of }) => state === 'locked' && of.kind === 'users' && of.names.includes(name),
    )?.id ?? null;
  const made = [...users].map(([user, { by, at, isSuperuser, tokens }]) => ({
    user: shortText(user) ?? '',
    by: shortText(by) ?? '',
    ...{ at, isSuperuser },
    isBefore: at !== null && Date.parse(at) < known.from,
    lockedIn: lockedIn(user),
    tokens: [...tokens].slice(0, MOST_MADE),
  }));
  return { since, users: made.slice(0, MOST_MADE), more: Math.max(0, made.length - MOST_MADE) };
}

function shortText(value: unknown): string | null {
  const text = textOf(value);
  if (text === undefined) return null;
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
}
