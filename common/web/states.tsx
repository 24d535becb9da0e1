/** What a page shows while it has no data, or none yet. */
import {
  Bullseye,
  Button,
  EmptyState,
  EmptyStateActions,
  EmptyStateBody,
  EmptyStateFooter,
  Flex,
  PageSection,
  Spinner,
  Stack,
  StackItem,
} from '@patternfly/react-core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { useLocation } from 'react-router';
import { ApiError, problemText } from './api.ts';
import { WithCode } from './code.tsx';
import { ButtonLink } from './links.tsx';
import { unbroken } from './times.tsx';

export function Loading(props: {
  /** Why the last attempt failed, if another one follows. */
  readonly reason?: Error | null;
}): ReactNode {
  const { reason = null } = props;
  const wait = useWait(reason);
  return (
    <Bullseye>
      <Flex direction={{ default: 'column' }} alignItems={{ default: 'alignItemsCenter' }}>
        <Spinner aria-label="Loading" />
        {reason !== null && (
          <p role="status">
            {reason.message} {wait > 0 ? unbroken(`Retrying in ${wait} s.`) : 'Retrying …'}
          </p>
        )}
      </Flex>
    </Bullseye>
  );
}

const SECOND_MS = 1_000;

/** The remaining seconds of the wait that the server requested with an error; 0 if it did not. */
export function useWait(error: Error | null): number {
  const asked = error instanceof ApiError ? (error.retryAfter ?? 0) : 0;
  const [over, setOver] = useState<{ readonly error: Error | null; readonly seconds: number } | null>(null);
  useEffect(() => {
    if (asked === 0) return;
    const begin = Date.now();
    const timer = setInterval(() => {
      const seconds = Math.floor((Date.now() - begin) / SECOND_MS);
      setOver({ error, seconds });
      if (seconds >= asked) clearInterval(timer);
    }, SECOND_MS / 4);
    return () => clearInterval(timer);
  }, [error, asked]);
  return Math.max(0, asked - (over?.error === error ? over.seconds : 0));
}

/** A failed read: the error, and a button to retry. */
export function Failed(props: {
  readonly error: Error;
  readonly retry?: () => void;
  /** Whether nothing else is on the page. It is then the page's heading and the title of the browser's tab. */
  readonly isPage?: boolean;
}): ReactNode {
  const { error, retry, isPage = false } = props;
  const status = error instanceof ApiError ? error.status : 0;
  const wait = useWait(error);
  const title = TITLES[status] ?? 'Could not load this';
  const isGone = isPage && status === 404;
  const isRefused = isPage && status === 403;
  const { pathname } = useLocation();
  useEffect(() => {
    if (isPage) document.title = title;
  }, [isPage, title]);
  return (
    <EmptyState headingLevel={isPage ? 'h1' : 'h2'} titleText={title} status="danger">
      <EmptyStateBody role="alert">
        {isGone ? (
          'It was deleted, never existed, or you do not have access to it.'
        ) : isRefused ? (
          'An administrator can give you access.'
        ) : (
          <WithCode text={problemText(error)} />
        )}
      </EmptyStateBody>
      {(isGone || isRefused) && (
        <EmptyStateFooter>
          <EmptyStateActions>
            <ButtonLink to={`/${pathname.split('/')[1]}`} variant="link">
              Back to the list
            </ButtonLink>
          </EmptyStateActions>
        </EmptyStateFooter>
      )}
      {retry !== undefined && ![400, 403, 404].includes(status) && (
        <EmptyStateFooter>
          <EmptyStateActions>
            <Button onClick={retry} isDisabled={wait > 0}>
              {wait > 0 ? unbroken(`Try again (${wait} s)`) : 'Try again'}
            </Button>
          </EmptyStateActions>
        </EmptyStateFooter>
      )}
    </EmptyState>
  );
}

const TITLES: Readonly<Record<number, string>> = {
  403: 'Access denied',
  404: 'Not found',
  429: 'Too many requests',
  503: 'The service is busy',
};

/** The text on a page that does not exist: the given link to the first page. */
export function UnknownAddress({ children }: { children: string }): ReactNode {
  return (
    <PageSection>
      <Stack hasGutter>
        <StackItem>There is no page at this address. The link to it may be outdated.</StackItem>
        <StackItem>
          <ButtonLink to="/">{children}</ButtonLink>
        </StackItem>
      </Stack>
    </PageSection>
  );
}

/** The data once it was read; until then a spinner or the failure. */
export function Loaded<T>(props: {
  readonly query: UseQueryResult<T, Error>;
  /** Whether the page shows nothing without it. */
  readonly isPage?: boolean;
  readonly children: (data: T) => ReactNode;
}): ReactNode {
  const { query, isPage = false, children } = props;
  const isGone = query.error instanceof ApiError && query.error.status === 404;
  // Shown data stays even if a later read fails for a moment.
  if (query.data !== undefined && !isGone) return children(query.data);
  if (query.isError) {
    const failed = <Failed error={query.error} retry={() => void query.refetch()} isPage={isPage} />;
    return isPage ? <PageSection>{failed}</PageSection> : failed;
  }
  return <Loading reason={query.failureReason} />;
}
