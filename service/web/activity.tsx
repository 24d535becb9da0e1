import { PageSection } from '@patternfly/react-core';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { type Column, ResourceList } from '@tokenctl/common/web/list.tsx';
import { LongText } from '@tokenctl/common/web/table.tsx';
import { Time } from '@tokenctl/common/web/times.tsx';
import type { ReactNode } from 'react';
import { type ActivityEntry, actorOf, KINDS, OPERATIONS, sentenceOf } from './activity-events.tsx';

const MAX_LENGTH = 240;

/** The changed values: `name: old → new`, or `name: value`. */
function changesOf(entry: ActivityEntry): ReactNode {
  const changes = Object.entries(entry.changes ?? {}).filter(([, value]) => value !== '' && value !== null);
  return changes.map(([name, value]) => {
    const isChange = entry.operation === 'update' && Array.isArray(value) && value.length === 2;
    const text = isChange ? `${shown(value[0])} → ${shown(value[1])}` : shown(value);
    return (
      <div key={name}>
        {name}: <LongText text={text} max={MAX_LENGTH} />
      </div>
    );
  });
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const COLUMNS: readonly Column<ActivityEntry>[] = [
  { title: 'Time', orderBy: 'timestamp', show: ({ timestamp }) => <Time value={timestamp} /> },
  { title: 'User', orderBy: 'actor__username', show: actorOf },
  { title: 'Event', show: sentenceOf },
  { title: 'Values', show: changesOf },
];

const TIMES = {
  from: 'timestamp__gte',
  to: 'timestamp__lt',
  presets: [
    ['Last 24 hours', -1, null],
    ['Last 7 days', -7, null],
    ['Last 30 days', -30, null],
  ],
} as const;

export function Activity(): ReactNode {
  return (
    <>
      <PageHeading title="Activity stream" />
      <PageSection>
        <ResourceList<ActivityEntry>
          name="events"
          path="/api/v2/activity_stream/"
          order="-timestamp"
          columns={COLUMNS}
          filters={[
            { name: 'actor__username__icontains', label: 'User' },
            { name: 'operation', label: 'Operation', choices: OPERATIONS },
            {
              name: 'object1',
              label: 'Resource',
              choices: KINDS.map(([name, kind]) => [name, kind] as const),
            },
            { name: 'timestamp', label: 'Time', range: TIMES },
            { name: 'changes__icontains', label: 'Values' },
          ]}
        />
      </PageSection>
    </>
  );
}
