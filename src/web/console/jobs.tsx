/** The configured jobs: schedules, next ticks, history, and a manual dry run. */

import {
  Button,
  ExpandableSection,
  Label,
  Modal,
  ModalBody,
  ModalHeader,
  PageSection,
  Title,
} from '@patternfly/react-core';
import { useMutation } from '@tanstack/react-query';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { PlainTable } from '@tokenctl/common/web/table.tsx';
import type { ReactNode } from 'react';
import type { Jobs as Answer } from '../../console/jobs.ts';
import { call, type Ended, type Json, type Operation, query, useAddress, useFacts, useRead } from './api.ts';
import { OwnCommand } from './commands.tsx';
import { Report } from './document.tsx';
import { Failure, Message, RunState, When } from './parts.tsx';

type JobRun = JobsRead['runs'][number];

type Job = JobsRead['jobs'][number];

export type JobsRead = Json<Answer>;

export function Jobs(): ReactNode {
  const read = useRead<JobsRead>('/api/jobs');
  const [search, change] = useAddress();
  const shown = search.get('run');
  const setShown = (run: string | null) => change({ run });
  return (
    <>
      <PageHeading title="Jobs" />
      <PageSection>
        <Loaded query={read}>
          {({ warning, jobs, runs }) =>
            jobs.length === 0 ? (
              <>
                <p>The configuration has no jobs. To create the first one, use this command:</p>
                <OwnCommand words="jobs init" />
              </>
            ) : (
              <>
                {warning !== null && <Message variant="warning" title={warning} />}
                <JobTable jobs={jobs} onShow={setShown} />
                <Title headingLevel="h2" className="history">
                  History
                </Title>
                <RunTable runs={runs} onShow={setShown} />
              </>
            )
          }
        </Loaded>
        {shown !== null && <RunDialog run={shown} onClose={() => setShown(null)} />}
      </PageSection>
    </>
  );
}

function JobTable({ jobs, onShow }: { jobs: readonly Job[]; onShow: (run: string) => void }): ReactNode {
  const { readOnly } = useFacts();
  const [, change] = useAddress();
  const begin = useMutation({
    mutationFn: (job: string) => call<Operation>('/api/jobs/dry-run', { body: { job } }),
    onSuccess: ({ id }) => change({ operation: id }),
  });
  return (
    <>
      <Failure error={begin.error} />
      <PlainTable
        label="Jobs"
        rows={jobs}
        keyOf={({ name }) => name}
        columns={[
          { title: 'Job', show: ({ name }) => name },
          {
            title: 'Kind',
            show: ({ kind, dryRun }) => (
              <>
                <span className="rule">{kind}</span> ({dryRun ? 'dry run' : 'live'})
              </>
            ),
          },
          {
            title: 'Schedule',
            show: ({ schedule, timeZone }) => (
              <>
                <code className="schedule">{schedule}</code> {timeZone}
              </>
            ),
          },
          {
            title: 'Next',
            show: ({ problem, ticks }) =>
              problem === null ? (
                <Ticks ticks={ticks} />
              ) : (
                <span className="labels">
                  <Label color="red">{problem}</Label>
                </span>
              ),
          },
          {
            title: 'Last run',
            show: ({ last }) =>
              last === null ? (
                'never run'
              ) : (
                <>
                  <RunState run={last} /> <RunLink run={last} onShow={onShow} />
                </>
              ),
          },
          {
            title: 'Run',
            isAction: true,
            show: ({ name, problem, isHere }) =>
              problem === null &&
              isHere &&
              !readOnly && (
                <Button
                  variant="secondary"
                  size="sm"
                  aria-label={`Dry run of ${name}`}
                  isDisabled={begin.isPending}
                  onClick={() => begin.mutate(name)}
                >
                  Dry run
                </Button>
              ),
          },
        ]}
      />
    </>
  );
}

function Ticks({ ticks }: { ticks: readonly string[] }): ReactNode {
  const [first, ...later] = ticks;
  return (
    <ExpandableSection toggleContent={<When at={first} />} isIndented>
      {later.map((tick) => (
        <div key={tick}>
          <When at={tick} />
        </div>
      ))}
    </ExpandableSection>
  );
}

function RunLink({ run, onShow }: { run: JobRun; onShow: (run: string) => void }): ReactNode {
  return (
    <Button variant="link" isInline onClick={() => onShow(run.run)}>
      <When at={run.began} />
    </Button>
  );
}

function RunTable({ runs, onShow }: { runs: readonly JobRun[]; onShow: (run: string) => void }): ReactNode {
  if (runs.length === 0) return <p>No runs.</p>;
  return (
    <PlainTable
      label="Job runs"
      rows={runs}
      keyOf={({ run }) => run}
      columns={[
        { title: 'Began', show: (run) => <RunLink run={run} onShow={onShow} /> },
        { title: 'Job', show: ({ job }) => job },
        { title: 'State', show: (run) => <RunState run={run} /> },
        { title: 'Result', show: ({ message }) => message },
      ]}
    />
  );
}

/** A run with its audit log entries, as the command prints it. */
function RunDialog({ run, onClose }: { run: string; onClose: () => void }): ReactNode {
  const read = useRead<Ended>(query('/api/jobs/run', { run }));
  return (
    <Modal isOpen variant="large" onClose={onClose} aria-labelledby="job-run-title">
      <ModalHeader title="Job run" labelId="job-run-title" />
      <ModalBody tabIndex={0} aria-label="The run">
        <Loaded query={read}>{(ended) => <Report ended={ended} label="Run" />}</Loaded>
        <OwnCommand words={`jobs show ${run}`} />
      </ModalBody>
    </Modal>
  );
}
