import { Button, Flex, Label, PageSection, Title } from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { callApi, problemText } from '@tokenctl/common/web/api.ts';
import { DeleteButton, type Deletion } from '@tokenctl/common/web/deletion.tsx';
import { Facts, LinkedTabs } from '@tokenctl/common/web/detail.tsx';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { type Column, ResourceList } from '@tokenctl/common/web/list.tsx';
import { useNotify } from '@tokenctl/common/web/notices.tsx';
import { useApi, useMe } from '@tokenctl/common/web/queries.ts';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { Time } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useEffect, useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import type { JobOptions } from '../../src/store/job-options.ts';
import { linkTo, type Resource } from '../resource-pages.tsx';
import { optionFacts } from './job-options.ts';
import { Output } from './job-output.tsx';
import { Results } from './job-results.tsx';

interface JobRow extends Resource, Partial<JobOptions> {
  readonly status: string;
  readonly started: string | null;
  readonly finished: string | null;
  readonly elapsed: number;
  readonly job_explanation: string;
  readonly playbook: string;
  readonly launch_type: string;
  readonly summary_fields: Resource['summary_fields'] & {
    readonly job_template?: { readonly id: number; readonly name: string };
    readonly created_by?: { readonly id: number; readonly username: string };
  };
}

const STATUSES = ['pending', 'running', 'successful', 'failed', 'error', 'canceled'];
const ACTIVE = new Set(['new', 'pending', 'waiting', 'running']);
const POLL_MS = 1_000;
const LIST_POLL_MS = 5_000;

function isActive({ status }: JobRow): boolean {
  return ACTIVE.has(status);
}

function JobStatus({ status }: { status: string }): ReactNode {
  const kind = ({ successful: 'success', failed: 'danger', error: 'danger', canceled: 'warning' } as const)[
    status
  ];
  const text = `${status[0]?.toUpperCase() ?? ''}${status.slice(1)}`;
  return (
    <Label isCompact {...(kind === undefined ? { color: 'blue' } : { status: kind })}>
      {text}
    </Label>
  );
}

function duration({ started, elapsed }: JobRow): string {
  if (started === null) return '—';
  const seconds = Math.round(elapsed);
  if (seconds < 60) return `${elapsed.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes} min ${seconds % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function templateOf({ summary_fields: { job_template } }: JobRow): ReactNode {
  if (job_template === undefined) return 'Deleted';
  return <Link to={`/templates/${job_template.id}`}>{job_template.name}</Link>;
}

function starterOf({ summary_fields: { created_by } }: JobRow): ReactNode {
  return created_by === undefined ? '—' : <Link to={`/users/${created_by.id}`}>{created_by.username}</Link>;
}

const COLUMNS: readonly Column<JobRow>[] = [
  { title: 'ID', orderBy: 'id', show: ({ id }) => <Link to={`/jobs/${id}`}>{id}</Link> },
  { title: 'Name', orderBy: 'name', show: ({ id, name }) => <Link to={`/jobs/${id}`}>{name}</Link> },
  { title: 'Status', orderBy: 'status', show: ({ status }) => <JobStatus status={status} /> },
  { title: 'Launched by', orderBy: 'created_by__username', show: starterOf },
  { title: 'Started', orderBy: 'started', show: ({ started }) => <Time value={started} none="—" /> },
  { title: 'Duration', show: duration },
];

const DELETION: Deletion<JobRow> = {
  noun: 'job',
  path: ({ id }) => `/api/v2/jobs/${id}/`,
  describe: ({ id, name }) => `${id}: ${name}`,
  consequence: 'The output is also deleted.',
  mayDelete: ({ status, summary_fields }) =>
    !ACTIVE.has(status) && summary_fields.user_capabilities?.delete === true,
};

/** The table of jobs, newest first. */
export function JobList(props: {
  readonly path: string;
  /** Whether every user who sees the list sees all of it. */
  readonly isWhole?: boolean;
}): ReactNode {
  const { path, isWhole = false } = props;
  return (
    <ResourceList<JobRow>
      name="jobs"
      path={path}
      columns={COLUMNS}
      order="-id"
      filters={[
        { name: 'name__icontains', label: 'Name' },
        {
          name: 'status',
          label: 'Status',
          choices: STATUSES.map((status) => [status, `${status[0]?.toUpperCase()}${status.slice(1)}`]),
        },
        { name: 'created_by__username', label: 'Launched by' },
      ]}
      deletion={DELETION}
      every={LIST_POLL_MS}
      empty="Launch a job template to run one."
      isWhole={isWhole}
    />
  );
}

export function Jobs(): ReactNode {
  return (
    <>
      <PageHeading title="Jobs" />
      <PageSection>
        <JobList path="/api/v2/jobs/" />
      </PageSection>
    </>
  );
}

/** The page of a job: its output as it arrives, and the main facts. */
export function JobOutput(): ReactNode {
  return (
    <JobPage>
      {(job) => (
        <>
          <PageSection>
            <Facts
              facts={[
                ['Status', <JobStatus key="status" status={job.status} />],
                ['Explanation', job.job_explanation === '' ? undefined : job.job_explanation],
                ['Job template', templateOf(job)],
                ['Launched by', starterOf(job)],
                ['Started', <Time key="started" value={job.started} none="Not yet" />],
                ['Duration', duration(job)],
              ]}
            />
          </PageSection>
          <PageSection>
            <Title headingLevel="h2" id="output-title">
              Output
            </Title>
            <Output key={job.id} id={job.id} isActive={isActive(job)} />
          </PageSection>
        </>
      )}
    </JobPage>
  );
}

export function JobResults(): ReactNode {
  return (
    <JobPage>
      {(job) => (
        <PageSection>
          <Results key={job.id} id={job.id} isActive={isActive(job)} />
        </PageSection>
      )}
    </JobPage>
  );
}

export function JobDetails(): ReactNode {
  return (
    <JobPage>
      {(job) => (
        <PageSection>
          <Facts
            facts={[
              ['Status', <JobStatus key="status" status={job.status} />],
              ['Explanation', job.job_explanation === '' ? undefined : job.job_explanation],
              ['Job template', templateOf(job)],
              ['Launched by', starterOf(job)],
              ['Launched as', job.launch_type === 'relaunch' ? 'A relaunch' : undefined],
              ['Inventory', linkTo('/inventories', job.summary_fields.inventory)],
              ['Project', linkTo('/projects', job.summary_fields.project)],
              ['Playbook', job.playbook],
              ...optionFacts(job),
              ['Launched', <Time key="created" value={job.created} withSeconds />],
              ['Started', <Time key="started" value={job.started} none="Not yet" withSeconds />],
              ['Finished', <Time key="finished" value={job.finished} none="Not yet" withSeconds />],
              ['Duration', duration(job)],
            ]}
          />
        </PageSection>
      )}
    </JobPage>
  );
}

/** The heading and tabs of a job, which is refreshed until it has ended. */
function JobPage({ children }: { children: (job: JobRow) => ReactNode }): ReactNode {
  const { id = '' } = useParams();
  const [isRead, setRead] = useState(true);
  const query = useApi<JobRow>(`/api/v2/jobs/${id}/`, { every: isRead && POLL_MS });
  const { data } = query;
  useEffect(() => {
    if (data !== undefined) setRead(isActive(data));
  }, [data]);
  return (
    <Loaded query={query} isPage>
      {(job) => (
        <>
          <PageHeading
            title={`Job ${job.id}: ${job.name}`}
            above={[['/jobs', 'Jobs']]}
            actions={<JobActions job={job} />}
          />
          <LinkedTabs
            label={`Details of job ${job.id}`}
            tabs={[
              [`/jobs/${job.id}`, 'Output'],
              [`/jobs/${job.id}/results`, 'Hosts and tasks'],
              [`/jobs/${job.id}/details`, 'Details'],
            ]}
          />
          {children(job)}
        </>
      )}
    </Loaded>
  );
}

/** The numbers of hosts of a job and of failed ones; a text if the output does not contain them. */
interface Retry {
  readonly retry_counts: string | { readonly failed: number };
}

function failedOf(retry: Retry | undefined): number {
  const counts = retry?.retry_counts;
  return typeof counts === 'object' ? counts.failed : 0;
}

/** Whether this user may cancel a job: their own, or one whose template they administer. */
function useMayCancel(job: JobRow): boolean {
  const me = useMe();
  const { created_by, job_template, user_capabilities } = job.summary_fields;
  const may = me.is_superuser || created_by?.id === me.id || user_capabilities?.delete === true;
  const template = useApi<Resource>(`/api/v2/job_templates/${job_template?.id}/`, {
    enabled: isActive(job) && !may && job_template !== undefined,
  });
  return isActive(job) && (may || template.data?.summary_fields.user_capabilities?.edit === true);
}

function JobActions({ job }: { job: JobRow }): ReactNode {
  const navigate = useNavigate();
  const notify = useNotify();
  const queries = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const { start = false } = job.summary_fields.user_capabilities ?? {};
  const mayCancel = useMayCancel(job);
  const cancel = async () => {
    setBusy(true);
    try {
      await callApi(`/api/v2/jobs/${job.id}/cancel/`, { method: 'POST', body: {} });
      notify('The job is being canceled.', 'info');
    } catch (error) {
      notify(`The job was not canceled: ${problemText(error)}`, 'danger');
    } finally {
      await queries.invalidateQueries();
      setBusy(false);
    }
  };
  const hasFailed = job.status === 'failed' && start;
  const retry = useApi<Retry>(`/api/v2/jobs/${job.id}/relaunch/`, { enabled: hasFailed });
  const failedHosts = failedOf(retry.data);
  const relaunch = async (hosts: 'all' | 'failed') => {
    setBusy(true);
    try {
      const path = `/api/v2/jobs/${job.id}/relaunch/`;
      const { id } = await callApi<{ readonly id: number }>(path, { method: 'POST', body: { hosts } });
      await queries.invalidateQueries();
      await navigate(`/jobs/${id}`);
    } catch (error) {
      notify(`The job was not relaunched: ${problemText(error)}`, 'danger');
    } finally {
      setBusy(false);
    }
  };
  return (
    <Flex gap={{ default: 'gapSm' }}>
      {mayCancel && (
        <Button variant="secondary" isDisabled={isBusy} isLoading={isBusy} onClick={() => void cancel()}>
          Cancel job
        </Button>
      )}
      {!isActive(job) && start && (
        <Button
          variant="secondary"
          isDisabled={isBusy}
          isLoading={isBusy}
          onClick={() => void relaunch('all')}
        >
          Relaunch
        </Button>
      )}
      {hasFailed && failedHosts > 0 && (
        <Button variant="secondary" isDisabled={isBusy} onClick={() => void relaunch('failed')}>
          {failedHosts === 1 ? 'Relaunch on the failed host' : `Relaunch on ${failedHosts} failed hosts`}
        </Button>
      )}
      {DELETION.mayDelete?.(job) === true && (
        <DeleteButton deletion={DELETION} rows={[job]} onDone={() => void navigate('/jobs')} />
      )}
    </Flex>
  );
}
