/** Says on every page that the console does not answer: what is shown then is as old as it is. */
import { Button, PageSection } from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError } from '@tokenctl/common/web/api.ts';
import { type ReactNode, useEffect, useState } from 'react';
import { call } from './api.ts';
import { Message, When } from './parts.tsx';

/** How often the console is asked whether it is there; it does not count as use. */
const BEAT_MS = 5_000;

/** The banner; nothing while the console answers. */
export function LostConnection(): ReactNode {
  const queries = useQueryClient();
  const beat = useQuery({
    queryKey: ['beat'],
    queryFn: ({ signal }) => call('/api/alive', { signal, quiet: true }),
    refetchInterval: BEAT_MS,
    retry: false,
  });
  const { error, dataUpdatedAt } = beat;
  const isLost = error instanceof ApiError && error.status === 0;
  const isOther = error instanceof ApiError && error.status === 401;
  const [wasLost, setWasLost] = useState(false);
  if (isLost && !wasLost) setWasLost(true);
  useEffect(() => {
    // What failed meanwhile is read once more.
    if (wasLost && !isLost) {
      setWasLost(false);
      void queries.invalidateQueries();
    }
  }, [wasLost, isLost, queries]);
  if (!isLost && !isOther) return null;
  const since = dataUpdatedAt === 0 ? null : new Date(dataUpdatedAt).toISOString();
  return (
    <PageSection>
      <Message
        isLiveRegion
        variant="danger"
        title={
          isOther
            ? 'Another console responds at this address. Open this page from its terminal again.'
            : 'The console does not respond. Is it still running in its terminal?'
        }
        actionLinks={
          <Button variant="link" isInline onClick={() => void beat.refetch()}>
            Try again
          </Button>
        }
      >
        The page shows data not newer than <When at={since} none="the last response" />. A confirmed change is
        finished and recorded, unless the console itself was killed. The audit log shows its progress.
      </Message>
    </PageSection>
  );
}
