/** What was done: the runs of the audit log, the jobs, and the changes of this console. */
import {
  Alert,
  Button,
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
  Label,
  Modal,
  ModalBody,
  ModalHeader,
  PageSection,
} from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { type ReactNode, useState } from 'react';
import { useSearchParams } from 'react-router';
import { Loaded } from '../shared/states.tsx';
import { type Operation, query, useRead } from './api.ts';
import { CommandLine, Heading, number, Printed, When } from './parts.tsx';

interface Run {
  readonly run: string;
  readonly operation: string;
  readonly state: string;
  readonly began: string;
  readonly ended: string;
  readonly sentence: string;
}

interface LogRead {
  readonly head: { readonly size: number; readonly hash: string };
  readonly runs: readonly Run[];
}

const STATES: Readonly<Record<string, 'green' | 'orange' | 'red' | 'grey'>> = {
  ...{
    done: 'green',
    partly: 'orange',
    refused: 'red',
    interrupted: 'orange',
    unfinished: 'red',
    noted: 'grey',
  },
  ...{ asking: 'orange', working: 'orange', failed: 'red' },
};

/** The audit log. */
export function Log(): ReactNode {
  const read = useRead<LogRead>('/api/log');
  const [shown, setShown] = useState<string | null>(null);
  return (
    <>
      <Heading title="Audit log" actions={<Verify />} />
      <PageSection>
        <Loaded query={read}>
          {({ head, runs }) => (
            <>
              <p>
                {number(head.size)} entries{runs.length > 0 && `; the newest ${runs.length} runs`}.
              </p>
              <Table aria-label="Runs" variant="compact">
                <Thead>
                  <Tr>
                    <Th>Ended</Th>
                    <Th>State</Th>
                    <Th>What</Th>
                    <Th screenReaderText="Details" />
                  </Tr>
                </Thead>
                <Tbody>
                  {runs.map(({ run, state, ended, sentence }) => (
                    <Tr key={run}>
                      <Td dataLabel="Ended">
                        <When at={ended} />
                      </Td>
                      <Td dataLabel="State">
                        <Label color={STATES[state] ?? 'grey'}>{state}</Label>
                      </Td>
                      <Td dataLabel="What">{sentence}</Td>
                      <Td>
                        <Button
                          variant="link"
                          aria-label={`Details of run ${run}`}
                          onClick={() => setShown(run)}
                        >
                          {run.slice(0, 8)}
                        </Button>
                      </Td>
                    </Tr>
                  ))}
                </Tbody>
              </Table>
            </>
          )}
        </Loaded>
        {shown !== null && <RunDialog run={shown} onClose={() => setShown(null)} />}
      </PageSection>
    </>
  );
}

function Verify(): ReactNode {
  const [wanted, setWanted] = useState(false);
  const { data, error, isFetching, refetch } = useRead<{ entries: number; head: { hash: string } }>(
    wanted ? '/api/log/verification' : null,
  );
  return (
    <>
      <Button
        variant="secondary"
        isLoading={isFetching}
        onClick={() => (wanted ? void refetch() : setWanted(true))}
      >
        Verify
      </Button>
      {error !== null && <Alert isInline isLiveRegion variant="danger" title={error.message} />}
      {data !== undefined && error === null && (
        <Alert
          isInline
          isLiveRegion
          variant="success"
          title={`Intact: ${number(data.entries)} entries. Head ${data.head.hash.slice(0, 12)}.`}
        />
      )}
    </>
  );
}

interface RunRead {
  readonly sentence: string;
  readonly facts: readonly { readonly name: string; readonly value: string | readonly string[] }[];
  readonly entries: readonly object[];
}

function RunDialog({ run, onClose }: { readonly run: string; readonly onClose: () => void }): ReactNode {
  const read = useRead<RunRead>(query('/api/log/run', { run }));
  return (
    <Modal isOpen variant="large" onClose={onClose} aria-labelledby="run-title">
      <ModalHeader title={`Run ${run}`} labelId="run-title" />
      <ModalBody tabIndex={0} aria-label="The run">
        <Loaded query={read}>
          {({ sentence, facts, entries }) => (
            <>
              <p>{sentence}</p>
              <DescriptionList isHorizontal isCompact>
                {facts.map(({ name, value }) => (
                  <DescriptionListGroup key={name}>
                    <DescriptionListTerm>{name}</DescriptionListTerm>
                    <DescriptionListDescription>
                      {typeof value === 'string' ? value : value.join(', ')}
                    </DescriptionListDescription>
                  </DescriptionListGroup>
                ))}
              </DescriptionList>
              <Printed text={entries.map((entry) => JSON.stringify(entry)).join('\n')} label="Entries" />
              <CommandLine command={`tokenctl log show ${run}`} />
            </>
          )}
        </Loaded>
      </ModalBody>
    </Modal>
  );
}

/** The changes that were begun in this console, on any of its pages. */
export function Operations(): ReactNode {
  const read = useRead<{ operations: readonly Operation[] }>('/api/operations', 3_000);
  const [, setSearch] = useSearchParams();
  return (
    <>
      <Heading title="Changes" />
      <PageSection>
        <Loaded query={read}>
          {({ operations }) =>
            operations.length === 0 ? (
              <p>No change was begun in this console. The audit log has all others.</p>
            ) : (
              <Table aria-label="Changes" variant="compact">
                <Thead>
                  <Tr>
                    <Th>Began</Th>
                    <Th>State</Th>
                    <Th>Command</Th>
                    <Th screenReaderText="Open" />
                  </Tr>
                </Thead>
                <Tbody>
                  {operations.map(({ id, began, state, command }) => (
                    <Tr key={id}>
                      <Td dataLabel="Began">
                        <When at={began} />
                      </Td>
                      <Td dataLabel="State">
                        <Label color={STATES[state] ?? 'grey'}>{state}</Label>
                      </Td>
                      <Td dataLabel="Command" modifier="breakWord">
                        <code>{command}</code>
                      </Td>
                      <Td>
                        <Button
                          variant="link"
                          onClick={() =>
                            setSearch((before) => {
                              before.set('operation', id);
                              return before;
                            })
                          }
                        >
                          Open
                        </Button>
                      </Td>
                    </Tr>
                  ))}
                </Tbody>
              </Table>
            )
          }
        </Loaded>
      </PageSection>
    </>
  );
}

interface JobsRead {
  readonly jobs: readonly {
    readonly name: string;
    readonly next: string | null;
    readonly last: { readonly state: string; readonly began: string } | null;
  }[];
  readonly runs: readonly {
    readonly run: string;
    readonly job: string;
    readonly state: string;
    readonly began: string;
  }[];
}

/** The jobs of the configuration. */
export function Jobs(): ReactNode {
  const read = useRead<JobsRead>('/api/jobs');
  return (
    <>
      <Heading title="Jobs" />
      <PageSection>
        <Loaded query={read}>
          {({ jobs, runs }) =>
            jobs.length === 0 ? (
              <p>The configuration has no jobs.</p>
            ) : (
              <>
                <Table aria-label="Jobs" variant="compact">
                  <Thead>
                    <Tr>
                      <Th>Job</Th>
                      <Th>Next</Th>
                      <Th>Last run</Th>
                    </Tr>
                  </Thead>
                  <Tbody>
                    {jobs.map(({ name, next, last }) => (
                      <Tr key={name}>
                        <Td dataLabel="Job">{name}</Td>
                        <Td dataLabel="Next">
                          <When at={next} none="invalid schedule" />
                        </Td>
                        <Td dataLabel="Last run">
                          {last === null ? 'none' : `${last.state}, `}
                          {last !== null && <When at={last.began} />}
                        </Td>
                      </Tr>
                    ))}
                  </Tbody>
                </Table>
                <Table aria-label="Runs of jobs" variant="compact">
                  <Thead>
                    <Tr>
                      <Th>Began</Th>
                      <Th>Job</Th>
                      <Th>State</Th>
                    </Tr>
                  </Thead>
                  <Tbody>
                    {runs.map(({ run, job, state, began }) => (
                      <Tr key={run}>
                        <Td dataLabel="Began">
                          <When at={began} />
                        </Td>
                        <Td dataLabel="Job">{job}</Td>
                        <Td dataLabel="State">{state}</Td>
                      </Tr>
                    ))}
                  </Tbody>
                </Table>
              </>
            )
          }
        </Loaded>
      </PageSection>
    </>
  );
}
