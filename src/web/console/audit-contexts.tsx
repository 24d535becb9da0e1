/** The audits of all controllers: how much each found, with the way to its findings. */
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { PlainTable } from '@tokenctl/common/web/table.tsx';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { type ControllerRead, query, useRead } from './api.ts';
import { Findings, isPending } from './overview/controller-card.tsx';
import { When } from './parts.tsx';

const AGAIN_MS = 1_000;

export function AuditContexts(): ReactNode {
  const [isWaiting, setWaiting] = useState(true);
  const read = useRead<{ readonly controllers: readonly ControllerRead[] }>(
    '/api/fleet',
    isWaiting && AGAIN_MS,
  );
  const waits = read.data?.controllers.some(isPending) ?? true;
  if (waits !== isWaiting) setWaiting(waits);
  return (
    <Loaded query={read}>
      {({ controllers }) => (
        <PlainTable
          label="Findings by context"
          rows={controllers}
          keyOf={({ place }) => place}
          columns={[
            {
              title: 'Context',
              show: ({ place }) => <Link to={query('/audit', { place })}>{place}</Link>,
            },
            { title: 'Findings', show: (each) => <Findings read={each} /> },
            { title: 'Audited', show: ({ audit }) => <When at={audit.value?.at} none="not yet" /> },
          ]}
        />
      )}
    </Loaded>
  );
}
