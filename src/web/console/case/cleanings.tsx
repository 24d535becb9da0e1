/** The cleanings of a case, and the reason and ticket of its actions. */
import { Button, Label } from '@patternfly/react-core';
import { PlainTable } from '@tokenctl/common/web/table.tsx';
import { type ReactNode, useState } from 'react';
import { useFacts } from '../api.ts';
import { AccountFields, useBegin } from '../begin.tsx';
import { END_COLORS, Failure, When } from '../parts.tsx';
import { accountOf, type ChosenCase } from './case-stages.ts';

/** The reason and the ticket, folded if known: the incident's are the default. */
export function FoldedAccount(props: Parameters<typeof AccountFields>[0]): ReactNode {
  const { requireReason, requireTicket } = useFacts();
  const { reason, ticket } = props.account;
  const [isMissing] = useState((requireReason && reason === '') || (requireTicket && ticket === ''));
  if (isMissing) return <AccountFields {...props} />;
  return (
    <details>
      <summary>Reason and ticket</summary>
      <AccountFields {...props} />
    </details>
  );
}

/** The earlier cleanings, to undo. */
export function Cleanings({ read, chosen }: ChosenCase): ReactNode {
  const { readOnly } = useFacts();
  const begin = useBegin();
  const made = read.runs.filter(({ operation }) => operation === 'incident.clean').toReversed();
  if (made.length === 0) return null;
  return (
    <>
      <h3>Cleanings</h3>
      <PlainTable
        label="Cleanings"
        rows={made}
        keyOf={({ run }) => run}
        columns={[
          { title: 'When', show: ({ at }) => <When at={at} /> },
          { title: 'What', show: ({ sentence }) => sentence },
          {
            title: 'Result',
            show: ({ state }) => (
              <Label color={END_COLORS[state] ?? 'grey'}>{state === 'partly' ? 'in part' : state}</Label>
            ),
          },
          ...(readOnly
            ? []
            : [
                {
                  title: 'Undo',
                  isAction: true as const,
                  show: ({ run }: { run: string }) => (
                    <Button
                      variant="link"
                      isInline
                      isDisabled={begin.isPending}
                      onClick={() =>
                        begin.mutate({
                          kind: 'incident clean',
                          place: chosen.place,
                          incident: read.incident.id,
                          undo: run,
                          ...(chosen.restContext !== undefined && { restContext: chosen.restContext }),
                          ...accountOf(read),
                        })
                      }
                    >
                      Undo…
                    </Button>
                  ),
                },
              ]),
        ]}
      />
      <Failure error={begin.error} />
    </>
  );
}
