/** One run of the audit log with its entries, each with a proof to download. */

import {
  Button,
  DescriptionList,
  ExpandableSection,
  Modal,
  ModalBody,
  ModalHeader,
} from '@patternfly/react-core';
import { useMutation } from '@tanstack/react-query';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { PlainTable } from '@tokenctl/common/web/table.tsx';
import type { ReactNode } from 'react';
import type { LogRun } from '../../console/log-records.ts';
import { call, type Json, query, saved, useRead } from './api.ts';
import { OwnCommand } from './commands.tsx';
import { Fact, Failure, When, WithTimes } from './parts.tsx';

export function RunDialog({ run, onClose }: { run: string; onClose: () => void }): ReactNode {
  const read = useRead<Json<LogRun>>(query('/api/log/run', { run }));
  return (
    <Modal isOpen variant="large" onClose={onClose} aria-labelledby="run-title">
      <ModalHeader title={`Run ${run}`} labelId="run-title" />
      <ModalBody tabIndex={0} aria-label="The run">
        <Loaded query={read}>
          {({ sentence, facts, entries }) => (
            <>
              <p>
                <WithTimes text={sentence} />
              </p>
              <DescriptionList isHorizontal isCompact className="facts">
                {facts.map(({ name, value }) => (
                  <Fact key={name} term={name}>
                    <WithTimes text={typeof value === 'string' ? value : value.join(', ')} withSeconds />
                  </Fact>
                ))}
              </DescriptionList>
              <Entries entries={entries} />
              <OwnCommand words={`log show ${run}`} />
            </>
          )}
        </Loaded>
      </ModalBody>
    </Modal>
  );
}

/** The entries of a run, unchanged. Each can be proved to people without the log. */
function Entries({ entries }: { entries: Json<LogRun>['entries'] }): ReactNode {
  const prove = useMutation({
    mutationFn: async (seq: number) => {
      const { proof, entry } = await call<{ proof: string; entry: string }>(query('/api/log/proof', { seq }));
      await saved(new Response(proof), `entry-${seq}.proof`);
      await saved(new Response(entry), `entry-${seq}.proof.entry`);
    },
  });
  return (
    <>
      <Failure error={prove.error} />
      <PlainTable
        label="Entries"
        rows={entries}
        keyOf={({ seq }) => seq}
        columns={[
          { title: 'Number', show: ({ seq }) => seq },
          { title: 'At', show: ({ at }) => <When at={at} withSeconds /> },
          {
            title: 'Entry',
            show: (entry) => (
              <ExpandableSection toggleText={entry.kind}>
                <code>{JSON.stringify(entry)}</code>
              </ExpandableSection>
            ),
          },
          {
            title: 'Proof',
            isAction: true,
            show: ({ seq }) => (
              <Button
                variant="link"
                aria-label={`Download the proof of entry ${seq}`}
                onClick={() => prove.mutate(seq)}
              >
                Proof
              </Button>
            ),
          },
        ]}
      />
    </>
  );
}
