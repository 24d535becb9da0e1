import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { kindOfModel } from '../../../domain/investigation/kinds.ts';
import type { JobRecord, JobSelector } from '../../../operations/ports/evidence.ts';
import { dateOf, dateOrNull, milliseconds, PAGE_LIMIT } from '../queries.ts';
import { actorOf } from './evidence-lists.ts';

/** A row of {@link jobsSql}. Times are in milliseconds. */
export interface JobRow extends Pick<JobRecord, 'id' | 'name' | 'status' | 'launchType' | 'scheduleId'> {
  readonly model: string;
  readonly created: number;
  readonly started: number | null;
  readonly finished: number | null;
  readonly created_by_id: number | null;
  readonly username: string | null;
  readonly template_id: number | null;
  readonly template: string | null;
  readonly credentials: readonly string[] | null;
  readonly hosts: number;
}

/** A page of jobs after an id. */
export function jobsSql(selector: JobSelector, after: number): Sql {
  const { createdBy, templateIds, scheduleIds, since, until } = selector;
  return sql`SELECT j.id, c.model, j.name, j.status, j.launch_type AS "launchType",
      ${milliseconds(sql`j.created`)} AS created, ${milliseconds(sql`j.started`)} AS started,
      ${milliseconds(sql`j.finished`)} AS finished, j.created_by_id, u.username,
      j.unified_job_template_id AS template_id, t.name AS template, j.schedule_id AS "scheduleId",
      (SELECT array_agg(k.name::text ORDER BY k.id) FROM main_credential k WHERE k.id IN
         (SELECT l.credential_id FROM main_unifiedjob_credentials l WHERE l.unifiedjob_id = j.id
          UNION SELECT a.credential_id FROM main_adhoccommand a WHERE a.unifiedjob_ptr_id = j.id)) AS credentials,
      (SELECT count(*) FROM main_jobhostsummary h WHERE h.job_id = j.id) AS hosts
    FROM main_unifiedjob j JOIN django_content_type c ON c.id = j.polymorphic_ctype_id
      LEFT JOIN auth_user u ON u.id = j.created_by_id
      LEFT JOIN main_unifiedjobtemplate t ON t.id = j.unified_job_template_id
    WHERE (j.created_by_id = ANY(${createdBy}::bigint[]) OR j.unified_job_template_id = ANY(${templateIds}::bigint[])
        OR j.schedule_id = ANY(${scheduleIds}::bigint[]))
      AND j.created >= ${since} AND j.created < ${until} AND j.id > ${after}::bigint
    ORDER BY j.id ${PAGE_LIMIT}`;
}

export function jobOf({ model, created_by_id, username, template_id: template, ...row }: JobRow): JobRecord {
  const kind = kindOfModel(model);
  return {
    ...row,
    kind,
    // The name of an ad hoc command ends with its arguments, which may contain secrets.
    name: kind === 'ad_hoc_command' ? row.name.split(':', 1).join('') : row.name,
    credentials: row.credentials ?? [],
    created: dateOf(row.created),
    started: dateOrNull(row.started),
    finished: dateOrNull(row.finished),
    createdBy: actorOf(created_by_id, username),
    template: template === null ? null : { id: template, name: row.template },
    hosts: kind === 'job' ? row.hosts : null,
  };
}
