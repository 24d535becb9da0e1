/** What is around every page: masthead, navigation, and what is shown while a page is loaded or if it fails. */
import {
  Button,
  Divider,
  Dropdown,
  DropdownItem,
  DropdownList,
  Masthead,
  MastheadBrand,
  MastheadContent,
  MastheadLogo,
  MastheadMain,
  MastheadToggle,
  MenuToggle,
  Nav,
  NavGroup,
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
import { Component, type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { Link, Route, Routes, useLocation, useNavigate } from 'react-router';
import { PageHeading } from '../shared/detail.tsx';
import { fullName, useMe } from '../shared/queries.ts';
import { logOut } from '../shared/session.tsx';
import { Failed, Loading } from '../shared/states.tsx';
import { chooseTheme, storedTheme, type Theme } from '../shared/theme.ts';
import { NAVIGATION, PAGES } from './pages.tsx';

const MAIN = 'main-content';

/** The frame with the page of the current address. */
export function Frame(): ReactNode {
  const { pathname } = useLocation();
  return (
    <Page
      isManagedSidebar
      masthead={<TopBar />}
      sidebar={<Navigation />}
      skipToContent={<SkipToContent href={`#${MAIN}`}>Skip to content</SkipToContent>}
      mainContainerId={MAIN}
      mainAriaLabel="Page"
    >
      <FailureBoundary key={pathname}>
        <Suspense fallback={<Loading />}>
          <Routes>
            {PAGES.map(({ path, page: Shown }) => (
              <Route key={path} path={path} element={<Shown />} />
            ))}
            <Route path="*" element={<UnknownPage />} />
          </Routes>
        </Suspense>
      </FailureBoundary>
      <FocusOnNewPage pathname={pathname} />
    </Page>
  );
}

/** Moves the focus to the content when another page is shown, as the browser does for a new document. */
function FocusOnNewPage({ pathname }: { readonly pathname: string }): ReactNode {
  const last = useRef(pathname);
  useEffect(() => {
    if (last.current === pathname) return;
    last.current = pathname;
    const main = document.getElementById(MAIN);
    main?.scrollTo(0, 0);
    main?.focus({ preventScroll: true });
  }, [pathname]);
  return null;
}

function TopBar(): ReactNode {
  return (
    <Masthead>
      <MastheadMain>
        <MastheadToggle>
          <PageToggleButton variant="plain" aria-label="Navigation">
            <BarsIcon />
          </PageToggleButton>
        </MastheadToggle>
        <MastheadBrand>
          <MastheadLogo component={(props) => <Link {...props} to="/" />}>
            <span className="brand">Automation service</span>
          </MastheadLogo>
        </MastheadBrand>
      </MastheadMain>
      <MastheadContent>
        <Toolbar isStatic>
          <ToolbarContent>
            <ToolbarGroup align={{ default: 'alignEnd' }} gap={{ default: 'gapSm' }}>
              <ToolbarItem>
                <ThemeButton />
              </ToolbarItem>
              <ToolbarItem>
                <UserMenu />
              </ToolbarItem>
            </ToolbarGroup>
          </ToolbarContent>
        </Toolbar>
      </MastheadContent>
    </Masthead>
  );
}

const NEXT_THEME: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };

/** Goes through the themes: that of the browser, light, dark. */
function ThemeButton(): ReactNode {
  const [theme, setTheme] = useState(storedTheme);
  const next = NEXT_THEME[theme];
  return (
    <Button
      variant="plain"
      aria-label={`Theme: ${theme}. Change to ${next}`}
      title={`Theme: ${theme}`}
      icon={theme === 'light' ? <SunIcon /> : theme === 'dark' ? <MoonIcon /> : <HalfIcon />}
      onClick={() => {
        chooseTheme(next);
        setTheme(next);
      }}
    />
  );
}

/** A circle, half of it filled. */
function HalfIcon(): ReactNode {
  return (
    <svg
      className="pf-v6-svg"
      viewBox="0 0 16 16"
      width="1em"
      height="1em"
      fill="currentColor"
      aria-hidden="true"
    >
      <path d="M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm0 12.5v-11a5.500 5.500 0 0 1 0 11Z" />
    </svg>
  );
}

function UserMenu(): ReactNode {
  const me = useMe();
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  const go = (path: string) => () => {
    setOpen(false);
    void navigate(path);
  };
  return (
    <Dropdown
      isOpen={isOpen}
      onOpenChange={setOpen}
      popperProps={{ position: 'right' }}
      toggle={(ref) => (
        <MenuToggle ref={ref} isExpanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {fullName(me)}
        </MenuToggle>
      )}
    >
      <DropdownList>
        <DropdownItem onClick={go(`/users/${me.id}`)}>My account</DropdownItem>
        <DropdownItem onClick={go(`/users/${me.id}/tokens`)}>My tokens</DropdownItem>
        <DropdownItem to="/api/v2/">REST API</DropdownItem>
        <Divider component="li" />
        <DropdownItem onClick={logOut}>Log out</DropdownItem>
      </DropdownList>
    </Dropdown>
  );
}

function Navigation(): ReactNode {
  const me = useMe();
  const { pathname } = useLocation();
  const seesAll = me.is_superuser || me.is_system_auditor;
  return (
    <PageSidebar>
      <PageSidebarBody>
        <Nav aria-label="Navigation">
          {NAVIGATION.map(([group, entries]) => {
            const items = entries
              .filter(({ forAuditors }) => seesAll || forAuditors !== true)
              .map(({ path, title }) => (
                <NavItem key={path} isActive={path === '/' ? pathname === '/' : isBelow(pathname, path)}>
                  <Link to={path}>{title}</Link>
                </NavItem>
              ));
            return group === null ? (
              <NavList key="top">{items}</NavList>
            ) : (
              <NavGroup key={group} title={group}>
                {items}
              </NavGroup>
            );
          })}
        </Nav>
      </PageSidebarBody>
    </PageSidebar>
  );
}

function isBelow(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(`${path}/`);
}

function UnknownPage(): ReactNode {
  return (
    <>
      <PageHeading title="Page not found" />
      <PageSection>
        <p>
          There is no page with this address. <Link to="/">To the dashboard</Link>
        </p>
      </PageSection>
    </>
  );
}

/** Shows a failure of a page in its place; the frame stays. */
class FailureBoundary extends Component<{ readonly children: ReactNode }, { readonly error: Error | null }> {
  override state: { readonly error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error): { readonly error: Error } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    // A page that cannot be loaded is usually one of an older version: its files are gone after an update.
    return (
      <PageSection>
        <Failed error={error} retry={() => window.location.reload()} />
      </PageSection>
    );
  }
}
