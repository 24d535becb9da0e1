/** The jobs of the configuration. */
import { PageSection } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import type { ReactNode } from 'react';
import { Loaded } from '../shared/states.tsx';
import { useRead } from './api.ts';
import { Heading, When } from './parts.tsx';

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
