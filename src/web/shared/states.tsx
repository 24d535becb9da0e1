/** What a page shows while it has nothing, or nothing yet. */
import {
  Bullseye,
  Button,
  EmptyState,
  EmptyStateActions,
  EmptyStateBody,
  EmptyStateFooter,
  Spinner,
} from '@patternfly/react-core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from './api.ts';

/** A spinner, announced as loading. */
export function Loading(): ReactNode {
  return (
    <Bullseye>
      <Spinner aria-label="Loading" />
    </Bullseye>
  );
}

/** A failed read: what happened, and another attempt. */
export function Failed({ error, retry }: { readonly error: Error; readonly retry?: () => void }): ReactNode {
  const status = error instanceof ApiError ? error.status : 0;
  return (
    <EmptyState headingLevel="h2" titleText={TITLES[status] ?? 'This could not be read'} status="danger">
      <EmptyStateBody role="alert">
        {error.message}
        {error instanceof ApiError &&
          error.retryAfter !== null &&
          ` Try again in ${error.retryAfter} seconds.`}
      </EmptyStateBody>
      {retry !== undefined && status !== 403 && status !== 404 && (
        <EmptyStateFooter>
          <EmptyStateActions>
            <Button onClick={retry}>Try again</Button>
          </EmptyStateActions>
        </EmptyStateFooter>
      )}
    </EmptyState>
  );
}

const TITLES: Readonly<Record<number, string>> = {
  403: 'You may not see this',
  404: 'Not found',
  429: 'Too many requests',
  503: 'The service is busy',
};

/** What was read, once it is there; until then a spinner or the failure. */
export function Loaded<T>({
  query,
  children,
}: {
  readonly query: UseQueryResult<T, Error>;
  readonly children: (data: T) => ReactNode;
}): ReactNode {
  // What is shown stays, should a later read of the same fail for a moment.
  if (query.data !== undefined) return children(query.data);
  if (query.isError) return <Failed error={query.error} retry={() => void query.refetch()} />;
  return <Loading />;
}
