/** The steps of a runbook next to an incident, marked as done in the audit log. */

import { Checkbox, ExpandableSection } from '@patternfly/react-core';
import { useMutation } from '@tanstack/react-query';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import { type ReactNode, useState } from 'react';
import type { Steps } from '../../../console/case/incidents.ts';
import type { Incidents } from '../../../console/case/read-incidents.ts';
import { call, type Ended, type Json, query, useFacts, useRead } from '../api.ts';
import { DocumentView } from '../document.tsx';
import { Failure, Message, When } from '../parts.tsx';

/** The needed parts of the incident. Its reason and ticket are recorded with the steps. */
type Incident = Pick<Incidents['incidents'][number], 'id' | 'reason' | 'ticket'>;

/** The runbook of an incident: the one in use, or the chosen one. */
export function RunbookSteps({ place, incident }: { place: string; incident: Incident }): ReactNode {
  const { id, reason, ticket } = incident;
  const { readOnly } = useFacts();
  const [chosen, setChosen] = useState('');
  const read = useRead<Json<Steps>>(query('/api/incidents/steps', { place, incident: id, runbook: chosen }));
  const tick = useMutation({
    mutationFn: (given: { runbook: string; step: number; undo: boolean }) =>
      call<Ended>('/api/incidents/steps', {
        body: {
          place,
          incident: id,
          ...given,
          ...(reason !== null && { reason }),
          ...(ticket !== null && { ticket }),
        },
      }),
    onSettled: () => read.refetch(),
  });
  const { data } = read;
  if (data === undefined)
    return read.error === null ? null : <Message variant="danger" title={read.error.message} />;
  const { runbook, runbooks, steps, done } = data;
  return (
    <section aria-label={`Runbook for ${id}`}>
      <Choice
        className="runbook"
        aria-label={`Select the runbook for ${id}`}
        value={runbook ?? ''}
        options={[
          ...(runbook === null ? [['', 'Follow a runbook'] as const] : []),
          ...runbooks.map((name) => [name, `Runbook: ${name}`] as const),
        ]}
        onChange={setChosen}
      />
      <Failure error={tick.error} />
      {runbook !== null &&
        steps.map(({ step, title, document }) => {
          const ticked = done.find((each) => each.runbook === runbook && each.step === step);
          return (
            <div key={step} className="step">
              <Checkbox
                id={`${id} ${runbook} ${step}`}
                label={`${step}. ${title}`}
                isChecked={ticked !== undefined}
                isDisabled={readOnly || tick.isPending}
                onChange={(_event, isChecked) => tick.mutate({ runbook, step, undo: !isChecked })}
                description={
                  ticked && (
                    <>
                      {ticked.by}, <When at={ticked.at} />, entry {ticked.seq} of the audit log
                    </>
                  )
                }
              />
              <ExpandableSection toggleText="How" isIndented>
                <DocumentView parts={document} label={title} headingLevel={3} />
              </ExpandableSection>
            </div>
          );
        })}
    </section>
  );
}
