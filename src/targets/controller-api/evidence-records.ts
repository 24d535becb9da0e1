import { z } from 'zod';
import type { StreamEntry } from '../../domain/investigation/deed.ts';
import { kindOfModel } from '../../domain/investigation/kinds.ts';
import type {
  CurrentObject,
  JobRecord,
  RoleAssignment,
  RoleDefinition,
  RoleHolder,
  RoleRecord,
} from '../../operations/ports/evidence.ts';
import { id, instant, namedUser } from './api.ts';
import { type Listing, listOf } from './listing.ts';

const named = z.looseObject({ id, name: z.string().nullish(), username: z.string().nullish() });
const summaries = z.record(z.string(), z.unknown()).catch({});

const streamEntry = z
  .object({
    id,
    timestamp: instant,
    operation: z.string(),
    object1: z.string(),
    object2: z.string().nullish(),
    object_association: z.string().nullish(),
    changes: z.record(z.string(), z.unknown()).catch({}),
    summary_fields: summaries,
  })
  .transform((body): StreamEntry => {
    const { actor, setting, ...objects } = body.summary_fields;
    const links = linksIn(objects);
    const relationship = body.changes['relationship'];
    const field = roleSummary.safeParse(objects['role']).data?.[0].role_field ?? null;
    return {
      id: body.id,
      at: body.timestamp,
      operation: body.operation,
      actor: actorIn(actor),
      object1: body.object1,
      object2: body.object2 ?? '',
      relationship:
        field ?? (body.object_association || (typeof relationship === 'string' ? relationship : '')),
      changes: body.changes,
      ...settingOf(setting),
      links,
    };
  });

const actorSummary = z.object({ id: z.number().int().nullable(), username: z.string() });
const settingSummary = z.tuple([z.object({ name: z.string(), category: z.string().nullish() })]);
const roleSummary = z.tuple([z.object({ role_field: z.string() })]).rest(z.unknown());

/** A deleted user is shown with its name but no id. */
function actorIn(summary: unknown): StreamEntry['actor'] {
  return actorSummary.safeParse(summary).data ?? null;
}

function settingOf(summary: unknown): Pick<StreamEntry, 'setting' | 'settingCategory'> {
  const found = settingSummary.safeParse(summary).data?.[0];
  return { setting: found?.name ?? null, settingCategory: found?.category ?? null };
}

function linksIn(objects: Readonly<Record<string, unknown>>): StreamEntry['links'] {
  return new Map(
    Object.entries(objects).flatMap(([kind, list]) => {
      const linked = z.array(named).safeParse(list).data ?? [];
      const items = linked.map((each) => ({ id: each.id, name: each.name ?? each.username ?? null }));
      return items.length === 0 ? [] : [[kind, items] as const];
    }),
  );
}

export const STREAM = listOf('activity_stream/', 'the activity stream', streamEntry);

export const currentObject = z
  .looseObject({ id })
  .transform((body): CurrentObject => ({ id: body.id, name: nameOf(body), fields: body }));

export function currentObjects(path: string): Listing<CurrentObject> {
  return listOf(`${path}/`, `the list ${path}`, currentObject);
}

function nameOf(body: Readonly<Record<string, unknown>>): string | null {
  const name =
    body['name'] ?? body['username'] ?? body['hostname'] ?? body['identifier'] ?? body['description'];
  return typeof name === 'string' ? name : null;
}

const job = z
  .object({
    id,
    type: z.string(),
    name: z.string().catch(''),
    status: z.string(),
    launch_type: z.string().nullish(),
    created: instant,
    started: instant.nullish(),
    finished: instant.nullish(),
    unified_job_template: id.nullish(),
    schedule: id.nullish(),
    summary_fields: summaries,
  })
  .transform((body): JobRecord => {
    // In the list of all jobs, only this field names the schedule.
    const {
      schedule,
      created_by: creator,
      unified_job_template: template,
      credentials,
      credential,
    } = body.summary_fields;
    const used =
      z.array(named).safeParse(credentials).data ?? z.array(named).safeParse([credential]).data ?? [];
    return {
      kind: body.type,
      id: body.id,
      name: body.name,
      status: body.status,
      created: body.created,
      launchType: body.launch_type ?? null,
      started: body.started ?? null,
      finished: body.finished ?? null,
      createdBy: actorIn(creator),
      template:
        body.unified_job_template == null
          ? null
          : { id: body.unified_job_template, name: named.safeParse(template).data?.name ?? null },
      scheduleId: body.schedule ?? named.safeParse(schedule).data?.id ?? null,
      credentials: used.flatMap(({ name }) => (name == null ? [] : [name])),
      hosts: null,
    };
  });

export const JOBS = listOf('unified_jobs/', 'the list of jobs', job);

const role = z
  .object({ id, name: z.string().nullish(), summary_fields: summaries })
  .transform((body): RoleRecord => {
    const { resource_type: kind, resource_id: about, resource_name: name } = body.summary_fields;
    const field = body.name == null ? null : roleFieldOf(body.name, kind === undefined);
    return {
      id: body.id,
      field,
      about:
        typeof kind === 'string' && typeof about === 'number'
          ? { kind, id: about, name: typeof name === 'string' ? name : null }
          : null,
    };
  });

/** All roles of the old kind. */
export const ROLES = listOf('roles/', 'the list of roles', role);

/** The API shows roles by title (`Job Template Admin`, `System Administrator`), the activity stream by field. */
function roleFieldOf(title: string, isSystem: boolean): string {
  const field = title
    .toLowerCase()
    .replaceAll(' ', '_')
    .replace('ad_hoc', 'adhoc')
    .replace('approve', 'approval');
  return isSystem ? field : `${field}_role`;
}

const ofAssignment = z.object({
  created_by: namedUser.nullish().catch(null),
  role_definition: z.object({ id, name: z.string(), managed: z.boolean() }),
  user: namedUser.optional(),
  team: z.object({ id, name: z.string() }).optional(),
  content_object: z.looseObject({ name: z.string().optional() }).nullish().catch(null),
});

const assignment = z
  .object({
    id,
    created: instant,
    content_type: z.string().nullish(),
    object_id: z.coerce.number().nullish(),
    summary_fields: ofAssignment,
  })
  .transform(({ id: number, created, content_type: type, object_id: about, summary_fields: of }) => ({
    id: number,
    at: created,
    by: actorIn(of.created_by),
    definition: of.role_definition,
    holder:
      of.user === undefined
        ? { kind: 'team', id: of.team?.id ?? null, name: of.team?.name ?? null }
        : { kind: 'user', id: of.user.id, name: of.user.username },
    about:
      type == null || about == null
        ? null
        : { kind: kindOfModel(type.replace(/^.*\./, '')), id: about, name: of.content_object?.name ?? null },
  }));

/** The roles of users or teams in the new role tables. */
export function assignments(kind: RoleAssignment['kind']): Listing<RoleAssignment> {
  const ofKind = assignment.transform((read) => ({ kind, ...read }));
  return listOf(`${kind}s/`, 'the list of role assignments', ofKind);
}

const definition = z
  .object({ id, name: z.string(), created: instant, modified: instant, summary_fields: summaries })
  .transform(({ summary_fields: of, ...body }): RoleDefinition => {
    return { ...body, createdBy: actorIn(of['created_by']), modifiedBy: actorIn(of['modified_by']) };
  });

/** The defined roles of the new kind. */
export const DEFINITIONS = listOf('role_definitions/', 'the list of role definitions', definition);

const access = z.array(z.object({ role: z.object({ name: z.string() }) })).catch([]);
const accessOf = namedUser
  .extend({ summary_fields: z.object({ direct_access: access, indirect_access: access }) })
  .transform(
    ({ id: number, username, summary_fields: { direct_access: direct, indirect_access: indirect } }) => {
      const names = [...direct, ...indirect].map(({ role }) => role.name);
      const own = names.filter((name) => !/System (Administrator|Auditor)$/.test(name));
      // For example, `project_admin_role` for `Project Admin`.
      const roles = own.map((name) => `${name.toLowerCase().replaceAll(' ', '_')}_role`);
      return { id: number, holders: roles.map((role): RoleHolder => ({ holder: username, role })) };
    },
  );

/** The users with access to an object and the roles that give it, except system roles. */
export function accessList(path: string): Listing<{ readonly id: number; readonly holders: RoleHolder[] }> {
  return listOf(`${path}access_list/`, 'the users with access to an object', accessOf);
}
