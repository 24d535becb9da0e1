/** Many controllers, one line each. */
import { PlainTable } from '@tokenctl/common/web/table.tsx';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { query } from '../api.ts';
import type { ControllerState } from '../needs.ts';
import { ExpiringLink, Findings, IncidentsText, Needs, SweepText } from './controller-card.tsx';

/** Critical findings are among the reasons for attention, and shown there. */
const SEVERE = ['high'] as const;

/** One line per controller, those that need attention first. */
export function ControllerTable({ states }: { states: readonly ControllerState[] }): ReactNode {
  return (
    <PlainTable
      label="Controllers"
      rows={states}
      keyOf={({ read }) => read.place}
      columns={[
        {
          title: 'Controller',
          show: ({ read: { place } }) => <Link to={query('/', { place })}>{place}</Link>,
        },
        {
          title: 'Needs attention',
          show: (state) => (
            <>
              <Needs state={state} />
              {state.read.context.problem !== null && (
                <div className="hint why">{state.read.context.problem.message}</div>
              )}
            </>
          ),
        },
        { title: 'Incidents', show: ({ read }) => <IncidentsText read={read} /> },
        { title: 'Findings', show: ({ read }) => <Findings read={read} severities={SEVERE} /> },
        {
          title: 'Expire in 30 days',
          show: ({ read: { place, audit } }) =>
            audit.value?.expiring == null ? (
              'not read'
            ) : (
              <ExpiringLink expiring={[audit.value.expiring]} place={place} />
            ),
        },
        { title: 'Last sweep', show: ({ sweep }) => <SweepText sweep={sweep} isShort /> },
      ]}
    />
  );
}
