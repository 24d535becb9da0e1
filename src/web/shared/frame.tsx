/** What is around every page: masthead, navigation, and what is shown while a page is loaded or if it fails. */
import './frame.css';
import {
  Button,
  Masthead,
  MastheadBrand,
  MastheadContent,
  MastheadLogo,
  MastheadMain,
  MastheadToggle,
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
import { Children, Component, type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'react-router';
import { Failed, Loading } from './states.tsx';
import { chooseTheme, storedTheme, type Theme } from './theme.ts';

const MAIN = 'main-content';

/** Groups of the navigation with their entries: path and title. A group without a name has no heading. */
export type Navigation = readonly (readonly [
  string | null,
  readonly { readonly path: string; readonly title: string }[],
])[];

/** The frame around the page of the current address. */
export function Frame({
  name,
  tools,
  navigation,
  children,
}: {
  /** The name of the application, which leads to its first page. */
  readonly name: string;
  /** What is at the end of the masthead; false leaves one out. */
  readonly tools: readonly ReactNode[];
  readonly navigation: Navigation;
  /** The routes of the pages. */
  readonly children: ReactNode;
}): ReactNode {
  const { pathname } = useLocation();
  return (
    <Page
      isManagedSidebar
      masthead={<TopBar name={name} tools={tools} />}
      sidebar={<Sidebar navigation={navigation} />}
      skipToContent={<SkipToContent href={`#${MAIN}`}>Skip to content</SkipToContent>}
      mainContainerId={MAIN}
      mainAriaLabel="Page"
    >
      {/* Outside of what changes with the address: a page stays until the next one is loaded. */}
      <Suspense fallback={<Loading />}>
        <FailureBoundary key={pathname}>{children}</FailureBoundary>
      </Suspense>
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

function TopBar({ name, tools }: { readonly name: string; readonly tools: readonly ReactNode[] }): ReactNode {
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
            <span className="brand">{name}</span>
          </MastheadLogo>
        </MastheadBrand>
      </MastheadMain>
      <MastheadContent>
        <Toolbar isStatic>
          <ToolbarContent>
            <ToolbarGroup align={{ default: 'alignEnd' }} gap={{ default: 'gapSm' }}>
              {Children.map(tools, (tool) => tool !== null && <ToolbarItem>{tool}</ToolbarItem>)}
            </ToolbarGroup>
          </ToolbarContent>
        </Toolbar>
      </MastheadContent>
    </Masthead>
  );
}

const NEXT_THEME: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };

/** A button that goes through the themes: that of the browser, light, dark. */
export function ThemeButton(): ReactNode {
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

function Sidebar({ navigation }: { readonly navigation: Navigation }): ReactNode {
  const { pathname } = useLocation();
  return (
    <PageSidebar>
      <PageSidebarBody>
        <Nav aria-label="Navigation">
          {navigation.map(([group, entries]) => {
            const items = entries.map(({ path, title }) => (
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
        <Failed error={error} retry={() => window.location.reload()} isPage />
      </PageSection>
    );
  }
}
