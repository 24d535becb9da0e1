import type { ReactNode } from 'react';
import { Link } from 'react-router';

/** An entry of `/api/v2/activity_stream/`. */
export interface ActivityEntry {
  readonly id: number;
  readonly timestamp: string;
  readonly operation: string;
  readonly changes: Readonly<Record<string, unknown>> | null;
  readonly object1: string;
  readonly object2: string;
  readonly summary_fields: Readonly<Record<string, unknown>>;
}

/** The operations: the API's name and the shown one. */
export const OPERATIONS = [
  ['create', 'Created'],
  ['update', 'Changed'],
  ['delete', 'Deleted'],
  ['associate', 'Added'],
  ['disassociate', 'Removed'],
] as const;

/** The resource types: the stream's name, the shown name, and the page of one, if there is one. */
export const KINDS: readonly (readonly [string, string, string | null])[] = [
  ['o_auth2_access_token', 'token', null],
  ['o_auth2_application', 'application', '/applications'],
  ['user', 'user', '/users'],
  ['organization', 'organization', '/organizations'],
  ['team', 'team', '/teams'],
  ['setting', 'setting', null],
  ['inventory', 'inventory', '/inventories'],
  ['host', 'host', '/hosts'],
  ['group', 'group', '/groups'],
  ['project', 'project', '/projects'],
  ['credential', 'credential', '/credentials'],
  ['job_template', 'job template', '/templates'],
  ['job', 'job', '/jobs'],
];

function operationOf({ operation }: ActivityEntry): string {
  return OPERATIONS.find(([each]) => each === operation)?.[1] ?? operation;
}

/** Whether a user did it. Changes by the service itself, such as at a login through a provider, have no actor. */
export function hasActor({ summary_fields }: ActivityEntry): boolean {
  return summary_fields['actor'] !== undefined;
}

/** The actor: a link, or a name if the user was deleted. */
export function actorOf(entry: ActivityEntry): ReactNode {
  const actor = entry.summary_fields['actor'] as { id: number | null; username: string } | undefined;
  if (actor === undefined) return '—';
  return actor.id === null ? (
    `${actor.username} (deleted)`
  ) : (
    <Link to={`/users/${actor.id}`}>{actor.username}</Link>
  );
}

/** The object: its type and, while it exists, a link. */
function resourceOf(entry: ActivityEntry, name: string): ReactNode {
  if (name === '') return null;
  const [, kind = name.replaceAll('_', ' '), page = null] = KINDS.find(([each]) => each === name) ?? [];
  const [found] = (entry.summary_fields[name] ?? []) as readonly Readonly<Record<string, unknown>>[];
  const facts = found ?? (name === entry.object1 ? entry.changes : null) ?? {};
  const called = String(facts['name'] || facts['username'] || facts['description'] || '');
  const text = called === '' ? kind : `${kind} ${called}`;
  if (page === null || typeof found?.['id'] !== 'number') return text;
  return <Link to={`${page}/${found['id']}`}>{text}</Link>;
}

/** The role of an association, such as `member`. */
function roleOf({ summary_fields }: ActivityEntry): string {
  const [role] = (summary_fields['role'] ?? []) as readonly { readonly role_field?: string }[];
  return role?.role_field?.replace(/_role$/, '').replaceAll('_', ' ') ?? '';
}

/** An entry as a sentence without its subject: "Created token x", "Added user y to organization z (member)". */
export function sentenceOf(entry: ActivityEntry): ReactNode {
  const first = resourceOf(entry, entry.object1);
  if (entry.object2 === '') {
    return (
      <>
        {operationOf(entry)} {first}
      </>
    );
  }
  const role = roleOf(entry);
  return (
    <>
      {operationOf(entry)} {resourceOf(entry, entry.object2)}{' '}
      {entry.operation === 'associate' ? 'to' : 'from'} {first}
      {role !== '' && ` (${role})`}
    </>
  );
}
