/** What is around every page: masthead, navigation, the operation that is open. */
import {
  Button,
  EmptyState,
  EmptyStateBody,
  Label,
  Masthead,
  MastheadBrand,
  MastheadContent,
  MastheadLogo,
  MastheadMain,
  MastheadToggle,
  Nav,
  NavItem,
  NavList,
  Page,
  PageSection,
  PageSidebar,
  PageSidebarBody,
  PageToggleButton,
  SkipToContent,
  Toolbar,
  ToolbarContent,
  ToolbarGroup,
  ToolbarItem,
} from '@patternfly/react-core';
import BarsIcon from '@patternfly/react-icons/dist/esm/icons/bars-icon';
import MoonIcon from '@patternfly/react-icons/dist/esm/icons/moon-icon';
import SunIcon from '@patternfly/react-icons/dist/esm/icons/sun-icon';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { Link, Route, Routes, useLocation, useSearchParams } from 'react-router';
import { ApiError } from '../shared/api.ts';
import { Failed, Loading } from '../shared/states.tsx';
import { chooseTheme, storedTheme } from '../shared/theme.ts';
import { type Facts, useRead } from './api.ts';
import { OperationDialog } from './operation.tsx';
import { Overview } from './overview.tsx';

const Tokens = lazy(async () => ({ default: (await import('./tokens.tsx')).Tokens }));
const Incidents = lazy(async () => ({ default: (await import('./incidents.tsx')).Incidents }));
const Audit = lazy(async () => ({ default: (await import('./audit.tsx')).Audit }));
const Log = lazy(async () => ({ default: (await import('./log.tsx')).Log }));
const Jobs = lazy(async () => ({ default: (await import('./log.tsx')).Jobs }));
const Operations = lazy(async () => ({ default: (await import('./log.tsx')).Operations }));

const MAIN = 'main-content';

const PAGES = [
  { path: '/', title: 'Overview', page: <Overview /> },
  { path: '/tokens', title: 'Tokens', page: <Tokens /> },
  { path: '/incidents', title: 'Incidents', page: <Incidents /> },
  { path: '/audit', title: 'Audit', page: <Audit /> },
  { path: '/operations', title: 'Changes', page: <Operations /> },
  { path: '/log', title: 'Audit log', page: <Log /> },
  { path: '/jobs', title: 'Jobs', page: <Jobs /> },
];

/** The frame with the page of the current address. */
export function Frame(): ReactNode {
  const read = useRead<Facts>('/api/console');
  const { pathname } = useLocation();
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
  return (
    <Page
      isManagedSidebar
      masthead={<TopBar facts={read.data} />}
      sidebar={<Navigation pathname={pathname} />}
      skipToContent={<SkipToContent href={`#${MAIN}`}>Skip to content</SkipToContent>}
      mainContainerId={MAIN}
      mainAriaLabel="Page"
    >
      <Suspense fallback={<Loading />}>
        <Routes>
          {PAGES.map(({ path, page }) => (
            <Route key={path} path={path} element={page} />
          ))}
        </Routes>
      </Suspense>
      {operation !== null && (
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
      )}
    </Page>
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

function TopBar({ facts }: { readonly facts: Facts }): ReactNode {
  const { operator, readOnly } = facts;
  return (
    <Masthead>
      <MastheadMain>
        <MastheadToggle>
          <PageToggleButton variant="plain" aria-label="Navigation">
            <BarsIcon />
          </PageToggleButton>
        </MastheadToggle>
        <MastheadBrand>
          <MastheadLogo component={(props) => <Link {...props} to="/" />}>tokenctl console</MastheadLogo>
        </MastheadBrand>
      </MastheadMain>
      <MastheadContent>
        <Toolbar isStatic>
          <ToolbarContent>
            <ToolbarGroup align={{ default: 'alignEnd' }} gap={{ default: 'gapSm' }}>
              {readOnly && (
                <ToolbarItem>
                  <Label color="blue">read only</Label>
                </ToolbarItem>
              )}
              <ToolbarItem>
                {operator.user}@{operator.host}
              </ToolbarItem>
              <ToolbarItem>
                <ThemeButton />
              </ToolbarItem>
            </ToolbarGroup>
          </ToolbarContent>
        </Toolbar>
      </MastheadContent>
    </Masthead>
  );
}

const NEXT = { system: 'light', light: 'dark', dark: 'system' } as const;

function ThemeButton(): ReactNode {
  const [theme, setTheme] = useState(storedTheme);
  const next = NEXT[theme];
  return (
    <Button
      variant="plain"
      aria-label={`Theme: ${theme}. Change to ${next}`}
      title={`Theme: ${theme}`}
      icon={theme === 'dark' ? <MoonIcon /> : <SunIcon />}
      onClick={() => {
        chooseTheme(next);
        setTheme(next);
      }}
    />
  );
}

function Navigation({ pathname }: { readonly pathname: string }): ReactNode {
  return (
    <PageSidebar>
      <PageSidebarBody>
        <Nav aria-label="Navigation">
          <NavList>
            {PAGES.map(({ path, title }) => (
              <NavItem key={path} isActive={pathname === path}>
                <Link to={path}>{title}</Link>
              </NavItem>
            ))}
          </NavList>
        </Nav>
      </PageSidebarBody>
    </PageSidebar>
  );
}
