/** The frame of the console: its pages, its navigation, who works in it, and the operation that is open. */
import { EmptyState, EmptyStateBody, Label, PageSection } from '@patternfly/react-core';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { Route, Routes, useSearchParams } from 'react-router';
import { ApiError } from '../shared/api.ts';
import { Frame, ThemeButton } from '../shared/frame.tsx';
import { Failed, Loading } from '../shared/states.tsx';
import { type Facts, useRead } from './api.ts';
import { LostConnection } from './lost-connection.tsx';
import { Overview } from './overview.tsx';

const OperationDialog = lazy(async () => ({
  default: (await import('./operation.tsx')).OperationDialog,
}));
const Tokens = lazy(async () => ({ default: (await import('./tokens.tsx')).Tokens }));
const Incidents = lazy(async () => ({ default: (await import('./incidents.tsx')).Incidents }));
const Case = lazy(async () => ({ default: (await import('./case.tsx')).Case }));
const Audit = lazy(async () => ({ default: (await import('./audit.tsx')).Audit }));
const Log = lazy(async () => ({ default: (await import('./log.tsx')).Log }));
const Jobs = lazy(async () => ({ default: (await import('./jobs.tsx')).Jobs }));
const SavedPlans = lazy(async () => ({ default: (await import('./saved-plans.tsx')).SavedPlans }));
const Operations = lazy(async () => ({ default: (await import('./log.tsx')).Operations }));

const PAGES = [
  { path: '/', title: 'Overview', page: <Overview /> },
  { path: '/tokens', title: 'Tokens', page: <Tokens /> },
  { path: '/incidents', title: 'Incidents', page: <Incidents /> },
  { path: '/audit', title: 'Audit', page: <Audit /> },
  { path: '/operations', title: 'Changes', page: <Operations /> },
  { path: '/plans', title: 'Saved plans', page: <SavedPlans /> },
  { path: '/log', title: 'Audit log', page: <Log /> },
  { path: '/jobs', title: 'Jobs', page: <Jobs /> },
];

/** How often the names of contexts are read again while one may turn out to be a platform. */
const NAMING_MS = 3_000;

/** The frame with the page of the current address. */
export function ConsoleFrame(): ReactNode {
  const [isNaming, setNaming] = useState(false);
  const read = useRead<Facts>('/api/console', isNaming && NAMING_MS);
  const hasUnnamed = (read.data?.unnamed.length ?? 0) > 0;
  if (hasUnnamed !== isNaming) setNaming(hasUnnamed);
  const [search, setSearch] = useSearchParams();
  const operation = search.get('operation');
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
          readOnly && (
            <Label key="mode" color="blue">
              read only
            </Label>
          ),
          `${operator.user}@${operator.host}`,
          <ThemeButton key="theme" />,
        ]}
        navigation={[[null, PAGES]]}
      >
        <LostConnection />
        <Routes>
          {PAGES.map(({ path, page }) => (
            <Route key={path} path={path} element={page} />
          ))}
          <Route path="/case" element={<Case />} />
        </Routes>
      </Frame>
      {operation !== null && (
        <Suspense>
          <OperationDialog
            key={operation}
            id={operation}
            onClose={() =>
              setSearch((before) => {
                before.delete('operation');
                return before;
              })
            }
          />
        </Suspense>
      )}
    </>
  );
}

/** What a browser sees that has not opened an address of the console. */
function Closed(): ReactNode {
  return (
    <PageSection>
      <EmptyState headingLevel="h1" titleText="Open the console from its terminal">
        <EmptyStateBody>
          This browser is not logged in. Press Enter in the terminal of <code>tokenctl console</code> and open
          the address that it prints.
        </EmptyStateBody>
      </EmptyState>
    </PageSection>
  );
}
