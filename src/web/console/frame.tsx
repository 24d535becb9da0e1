/** The frame of the console: its pages, its navigation, the current account, and the open operation. */
import { Button, EmptyState, EmptyStateBody, Label, PageSection } from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError } from '@tokenctl/common/web/api.ts';
import { Frame, ThemeButton } from '@tokenctl/common/web/frame.tsx';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { Failed, Loading, UnknownAddress } from '@tokenctl/common/web/states.tsx';
import { countText, numberText, zoneText } from '@tokenctl/common/web/times.tsx';
import { type ComponentType, lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { Link, Route, Routes, useLocation, useSearchParams } from 'react-router';
import { call, type Facts, type Operation, query, useGradually, useRead } from './api.ts';
import { ContextFilter } from './controller.tsx';
import { Overview } from './overview/overview.tsx';
import { LinkedLabel, Message, When } from './parts.tsx';

const loadOperation = () => import('./operation.tsx');
const OperationDialog = lazy(async () => ({ default: (await loadOperation()).OperationDialog }));

/** Loads the code that the first view does not need. */
const loads: (() => Promise<unknown>)[] = [loadOperation];

/** A page by the name of its export, loaded when it is first shown; always the same element. */
function page<Name extends string>(load: () => Promise<Readonly<Record<Name, ComponentType>>>, name: Name) {
  loads.push(load);
  const Page = lazy(async (): Promise<{ default: ComponentType }> => ({ default: (await load())[name] }));
  return <Page />;
}

/** When to load the rest of the code: pages then still open, and report it, after the console has stopped. */
const LOAD_REST_MS = 1_000;

const PAGES = [
  { path: '/', title: 'Overview', page: <Overview /> },
  { path: '/tokens', title: 'Tokens', page: page(() => import('./tokens/tokens.tsx'), 'Tokens') },
  {
    path: '/incidents',
    title: 'Incidents',
    page: page(() => import('./case/incidents.tsx'), 'Incidents'),
    others: ['/theft', '/case', '/investigation'],
  },
  { path: '/audit', title: 'Audit', page: page(() => import('./audit.tsx'), 'Audit') },
  { path: '/lifetimes', title: 'Token lifetimes', page: page(() => import('./lifetimes.tsx'), 'Lifetimes') },
  { path: '/operations', title: 'Changes', page: page(() => import('./log.tsx'), 'Operations') },
  { path: '/plans', title: 'Saved plans', page: page(() => import('./saved-plans.tsx'), 'SavedPlans') },
  { path: '/log', title: 'Audit log', page: page(() => import('./log.tsx'), 'Log') },
  { path: '/jobs', title: 'Jobs', page: page(() => import('./jobs.tsx'), 'Jobs') },
];

/** The pages that are not in the navigation. */
const OTHER_PAGES = [
  { path: '/theft', page: page(() => import('./theft/theft.tsx'), 'TheftPage') },
  { path: '/case', page: page(() => import('./case/case.tsx'), 'Case') },
  { path: '/investigation', page: page(() => import('./case/investigation.tsx'), 'InvestigationPage') },
  { path: '/help', page: page(() => import('./help.tsx'), 'Help') },
];

/** The pages about all contexts, or about the chosen one. */
const OF_CONTEXTS: ReadonlySet<string> = new Set(['/', '/tokens', '/incidents', '/audit', '/lifetimes']);

/** The frame with the page of the current URL. */
export function ConsoleFrame(): ReactNode {
  // A context without a final name may turn out to be a platform.
  const read = useGradually<Facts>('/api/console', ({ unnamed }) => unnamed.length > 0);
  useEffect(() => {
    const timer = setTimeout(() => {
      // What cannot be loaded now is loaded with its page.
      for (const load of loads) load().catch(() => undefined);
    }, LOAD_REST_MS);
    return () => clearTimeout(timer);
  }, []);
  const [search, setSearch] = useSearchParams();
  const [operation, place] = [search.get('operation'), search.get('place')];
  const { pathname } = useLocation();
  if (read.error instanceof ApiError && read.error.status === 401) return <Closed />;
  if (read.data === undefined) {
    return read.error === null ? (
      <Loading />
    ) : (
      <Failed error={read.error} retry={() => void read.refetch()} />
    );
  }
  const { operator, readOnly } = read.data;
  return (
    <>
      <Frame
        name="tokenctl console"
        tools={[
          <Running key="running" />,
          OF_CONTEXTS.has(pathname) && <ContextFilter key="context" />,
          readOnly && (
            <Label key="mode" color="blue">
              read only
            </Label>
          ),
          <span key="zone" className="zone" title="Browser time zone. Hover over a time to see it in UTC.">
            Times: {zoneText()}
          </span>,
          `${operator.user}@${operator.host}`,
          <Link key="help" to="/help">
            Help
          </Link>,
          <ThemeButton key="theme" />,
        ]}
        // The chosen context stays for the next page.
        navigation={[
          [null, PAGES.map((page) => ({ ...page, search: query('', { place: place ?? undefined }) }))],
        ]}
      >
        <LostConnection />
        <Routes>
          {[...PAGES, ...OTHER_PAGES].map((route) => (
            <Route key={route.path} path={route.path} element={route.page} />
          ))}
          <Route path="*" element={<UnknownPage />} />
        </Routes>
      </Frame>
      {operation !== null && (
        <Suspense>
          <OperationDialog
            key={operation}
            id={operation}
            onClose={() =>
              setSearch(
                (before) => {
                  before.delete('operation');
                  return before;
                },
                // Going back does not open it again over another open one.
                { replace: true },
              )
            }
          />
        </Suspense>
      )}
    </>
  );
}

/** The polling interval for running changes. */
const RUNNING_MS = 3_000;

/** On each page: the changes that are running or wait for a confirmation. */
function Running(): ReactNode {
  const { data } = useRead<{ readonly operations: readonly Operation[] }>('/api/operations', RUNNING_MS);
  const going = data?.operations.filter(({ ended }) => ended === null) ?? [];
  const [only] = going;
  if (only === undefined) return null;
  const running = going.filter(({ state }) => state !== 'asking').length;
  const to = going.length === 1 ? query('/operations', { operation: only.id }) : '/operations';
  return (
    <LinkedLabel to={to} color="blue">
      {[
        running > 0 && countText(running, 'running change'),
        running < going.length && `${numberText(going.length - running)} to confirm`,
      ]
        .filter(Boolean)
        .join(', ')}
    </LinkedLabel>
  );
}

function UnknownPage(): ReactNode {
  return (
    <>
      <PageHeading title="Page not found" />
      <UnknownAddress>Go to the overview</UnknownAddress>
    </>
  );
}

/** Shown in a browser that has not opened a URL of the console. */
function Closed(): ReactNode {
  return (
    <main>
      <PageSection>
        <EmptyState headingLevel="h1" titleText="Open the console from its terminal">
          <EmptyStateBody>
            This browser is not logged in. Press Enter in the terminal of <code>tokenctl console</code> and
            open the address that it prints.
          </EmptyStateBody>
        </EmptyState>
      </PageSection>
    </main>
  );
}

/** The interval of availability checks, which do not count as use. */
const BEAT_MS = 5_000;

/** The banner that the console does not respond: displayed data is then outdated. Hidden otherwise. */
function LostConnection(): ReactNode {
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
    // Requests that failed in the meantime are repeated once.
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
