/** Jobs: the list, and one with its output as it comes. */
import { Alert, Button, Flex, Label, PageSection, Title } from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import type { JobOptions } from '../../service/store/job-options.ts';
import { callApi, type Page, problemText, withQuery } from '../shared/api.ts';
import { DeleteButton, type Deletion } from '../shared/deletion.tsx';
import { Facts } from '../shared/detail.tsx';
import { PageHeading } from '../shared/heading.tsx';
import { type Column, ResourceList } from '../shared/list.tsx';
import { useNotify } from '../shared/notices.tsx';
import { useApi } from '../shared/queries.ts';
import { Loaded } from '../shared/states.tsx';
import { Time } from '../shared/times.tsx';
import './jobs.css';
import { optionFacts } from './job-options.ts';
import type { Resource } from './resource-pages.tsx';

interface JobRow extends Resource, Partial<JobOptions> {
  readonly status: string;
  readonly started: string | null;
  readonly finished: string | null;
  readonly elapsed: number;
  readonly job_explanation: string;
  readonly playbook: string;
  readonly summary_fields: Resource['summary_fields'] & {
    readonly job_template?: { readonly id: number; readonly name: string };
    readonly created_by?: { readonly id: number; readonly username: string };
  };
}

const STATUSES = ['pending', 'running', 'successful', 'failed', 'error', 'canceled'];
const ACTIVE = new Set(['new', 'pending', 'waiting', 'running']);
const POLL_MS = 1_000;
const LIST_POLL_MS = 5_000;

function JobStatus({ status }: { readonly status: string }): ReactNode {
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
  consequence: 'The output is deleted with it.',
  mayDelete: ({ status, summary_fields }) =>
    !ACTIVE.has(status) && summary_fields.user_capabilities?.delete === true,
};

/** The table of jobs, newest first. */
export function JobList({ path }: { readonly path: string }): ReactNode {
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
    />
  );
}

/** The list of jobs. */
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

/** One job: its facts, and its output as it comes. */
export function JobDetails(): ReactNode {
  const { id = '' } = useParams();
  const [isActive, setActive] = useState(true);
  const query = useApi<JobRow>(`/api/v2/jobs/${id}/`, { every: isActive && POLL_MS });
  const status = query.data?.status;
  useEffect(() => {
    if (status !== undefined) setActive(ACTIVE.has(status));
  }, [status]);
  return (
    <Loaded query={query} isPage>
      {(job) => (
        <>
          <PageHeading
            title={`Job ${job.id}: ${job.name}`}
            above={[['/jobs', 'Jobs']]}
            actions={<JobActions job={job} />}
          />
          <PageSection>
            <Facts
              facts={[
                ['Status', <JobStatus key="status" status={job.status} />],
                ['Explanation', job.job_explanation === '' ? undefined : job.job_explanation],
                ['Job template', templateOf(job)],
                ['Launched by', starterOf(job)],
                ['Inventory', job.summary_fields.inventory?.name ?? 'Deleted'],
                ['Project', job.summary_fields.project?.name ?? 'Deleted'],
                ['Playbook', job.playbook],
                ...optionFacts(job),
                ['Started', <Time key="started" value={job.started} none="Not yet" />],
                ['Finished', <Time key="finished" value={job.finished} none="Not yet" />],
                ['Duration', duration(job)],
              ]}
            />
          </PageSection>
          <PageSection>
            <Title headingLevel="h2" id="output-title">
              Output
            </Title>
            <Output key={job.id} id={job.id} isActive={ACTIVE.has(job.status)} />
          </PageSection>
        </>
      )}
    </Loaded>
  );
}

function JobActions({ job }: { readonly job: JobRow }): ReactNode {
  const navigate = useNavigate();
  const notify = useNotify();
  const queries = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const { start = false } = job.summary_fields.user_capabilities ?? {};
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
  const relaunch = async () => {
    setBusy(true);
    try {
      const path = `/api/v2/jobs/${job.id}/relaunch/`;
      const { id } = await callApi<{ readonly id: number }>(path, { method: 'POST', body: {} });
      await queries.invalidateQueries();
      await navigate(`/jobs/${id}`);
    } catch (error) {
      notify(`The job was not launched again: ${problemText(error)}`, 'danger');
    } finally {
      setBusy(false);
    }
  };
  return (
    <Flex gap={{ default: 'gapSm' }}>
      {ACTIVE.has(job.status) && start && (
        <Button variant="secondary" isDisabled={isBusy} isLoading={isBusy} onClick={() => void cancel()}>
          Cancel job
        </Button>
      )}
      {!ACTIVE.has(job.status) && start && (
        <Button variant="secondary" isDisabled={isBusy} isLoading={isBusy} onClick={() => void relaunch()}>
          Relaunch
        </Button>
      )}
      {DELETION.mayDelete?.(job) === true && (
        <DeleteButton deletion={DELETION} rows={[job]} onDone={() => void navigate('/jobs')} />
      )}
    </Flex>
  );
}

interface JobEvent {
  readonly stdout: string;
  readonly start_line: number;
  readonly end_line: number;
}

/** Colours of a terminal, which a controller's output has. */
const TERMINAL_CODES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z]`, 'g');
/** What is shown at most, from the end: browsers become slow with more. */
const MAX_SHOWN = 1_000_000;

interface Printed {
  readonly text: string;
  /** Whether all that was printed up to now was read. */
  readonly isWhole: boolean;
  /** Whether the job has ended and all is read: nothing is asked for any more. */
  readonly isEnded: boolean;
  readonly problem: string | null;
}

/** Reads what a job printed, page by page, and goes on while it runs. */
function useOutput(id: number, isActive: boolean): Printed {
  const [printed, setPrinted] = useState<Printed>({
    text: '',
    isWhole: false,
    isEnded: false,
    problem: null,
  });
  const active = useRef(isActive);
  active.current = isActive;
  useEffect(() => {
    const left = new AbortController();
    const follow = async () => {
      let next = 0;
      while (!left.signal.aborted) {
        // Asked before the read: what a job printed is complete once it has ended.
        const wasActive = active.current;
        const events = await readEvents(id, { from: next, signal: left.signal });
        if (left.signal.aborted) return;
        const isEnd = events.end === next;
        const isEnded = isEnd && events.problem === null && !wasActive;
        setPrinted(({ text }) => ({
          text: text + events.text,
          isWhole: isEnd,
          isEnded,
          problem: events.problem,
        }));
        if (isEnded) return;
        next = events.end;
        if (isEnd) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    };
    void follow();
    return () => left.abort();
  }, [id]);
  return printed;
}

/** A page of what a job printed from a line on. A failure is the `problem`; it reads nothing. */
async function readEvents(
  id: number,
  { from, signal }: { readonly from: number; readonly signal: AbortSignal },
): Promise<{ readonly text: string; readonly end: number; readonly problem: string | null }> {
  const path = withQuery(`/api/v2/jobs/${id}/job_events/`, {
    order_by: 'start_line',
    page_size: 200,
    no_truncate: true,
    start_line__gte: from,
  });
  try {
    const { results } = await callApi<Page<JobEvent>>(path, { signal, quiet: true });
    const texts = results.filter(({ stdout }) => stdout !== '').map(({ stdout }) => `${stdout}\n`);
    return {
      text: texts.join('').replaceAll(TERMINAL_CODES, ''),
      end: Math.max(from, ...results.map(({ end_line }) => end_line)),
      problem: null,
    };
  } catch (error) {
    return { text: '', end: from, problem: problemText(error) };
  }
}

function Output({ id, isActive }: { readonly id: number; readonly isActive: boolean }): ReactNode {
  const { text, isWhole, isEnded, problem } = useOutput(id, isActive);
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (isAtEnd.current && box.current !== null && text !== '')
      box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  const shown = text.slice(-MAX_SHOWN);
  const none = !isWhole ? 'Reading …' : isActive ? 'Nothing yet.' : 'The job printed nothing.';
  return (
    <>
      {problem !== null && <Alert isInline variant="warning" component="p" title={problem} />}
      {shown.length < text.length && (
        <p>
          The last million characters.{' '}
          <a href={`/api/v2/jobs/${id}/stdout/?format=txt_download`}>Download all</a>
        </p>
      )}
      <pre
        ref={box}
        className="job-output"
        role="log"
        aria-live="off"
        aria-busy={!isEnded}
        aria-labelledby="output-title"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reachable by keyboard
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 20;
        }}
      >
        {shown === '' ? none : shown}
      </pre>
    </>
  );
}
