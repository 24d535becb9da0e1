/** The frame of every page: masthead, navigation, and the states of loading and failure. */
import './frame.css';
// PatternFly's elements and styles. Its components Page, Nav and Toolbar are not used: with their imports,
// for fly-out menus and drawers, they were a fifth of the scripts of the first view.
import '@patternfly/react-styles/css/components/Nav/nav.css';
import {
  Button,
  Masthead,
  MastheadBrand,
  MastheadContent,
  MastheadMain,
  MastheadToggle,
  PageSection,
  SkipToContent,
} from '@patternfly/react-core';
import BarsIcon from '@patternfly/react-icons/dist/esm/icons/bars-icon';
import MoonIcon from '@patternfly/react-icons/dist/esm/icons/moon-icon';
import SunIcon from '@patternfly/react-icons/dist/esm/icons/sun-icon';
import {
  Children,
  Component,
  type ReactNode,
  Suspense,
  useEffect,
  useId,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { Link, useLocation } from 'react-router';
import { Failed, Loading } from './states.tsx';
import { changeTheme, isDark, onTheme } from './theme.ts';

const MAIN = 'main-content';
const SIDEBAR = 'page-sidebar';

/** Groups of entries: path with query, title, and other paths that belong to it. One without a name has no heading. */
export type Navigation = readonly (readonly [
  string | null,
  readonly {
    readonly path: string;
    readonly search?: string;
    readonly title: string;
    readonly others?: readonly string[];
  }[],
])[];

export function Frame(props: {
  /** The name of the application, linked to its first page. */
  readonly name: string;
  /** The end of the masthead. False entries are omitted. */
  readonly tools: readonly ReactNode[];
  readonly navigation: Navigation;
  readonly children: ReactNode;
}): ReactNode {
  const { name, tools, navigation, children } = props;
  const { pathname } = useLocation();
  const sidebar = useSidebar();
  const page = useRef<HTMLDivElement>(null);
  // After a login, the browser would continue at the removed form instead of the first link.
  useEffect(() => {
    if (document.activeElement === document.body) page.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div className="pf-v6-c-page" ref={page} tabIndex={-1}>
      <SkipToContent href={`#${MAIN}`}>Skip to content</SkipToContent>
      <TopBar name={name} tools={tools} sidebar={sidebar} />
      <Sidebar navigation={navigation} sidebar={sidebar} />
      <div className="pf-v6-c-page__main-container">
        <main
          id={MAIN}
          className="pf-v6-c-page__main"
          aria-label="Page"
          tabIndex={-1}
          onPointerDown={sidebar.closeAbove}
        >
          {/* Outside of what changes with the URL: a page stays until the next one is loaded. */}
          <Suspense fallback={<Loading />}>
            <FailureBoundary key={pathname}>{children}</FailureBoundary>
          </Suspense>
          <FocusOnNewPage pathname={pathname} />
        </main>
      </div>
    </div>
  );
}

/** The navigation next to the page, or above it in a narrow window. */
interface SidebarState {
  readonly isOpen: boolean;
  readonly isAbove: boolean;
  readonly toggle: () => void;
  /** Closes it if it is above the page. */
  readonly closeAbove: () => void;
}

/** Below PatternFly's breakpoint `xl`, the navigation does not fit next to the page. */
const narrow = matchMedia('(width < 75rem)');

function onWidth(change: () => void): () => void {
  narrow.addEventListener('change', change);
  return () => narrow.removeEventListener('change', change);
}

function useSidebar(): SidebarState {
  const isNarrow = useSyncExternalStore(onWidth, () => narrow.matches);
  const [isOpenBeside, setOpenBeside] = useState(true);
  const [isOpenAbove, setOpenAbove] = useState(false);
  return {
    isOpen: isNarrow ? isOpenAbove : isOpenBeside,
    isAbove: isNarrow,
    toggle: () => (isNarrow ? setOpenAbove(!isOpenAbove) : setOpenBeside(!isOpenBeside)),
    closeAbove: () => setOpenAbove(false),
  };
}

/** Moves the focus to the content when another page is shown, as the browser does for a new document. */
function FocusOnNewPage({ pathname }: { pathname: string }): ReactNode {
  const last = useRef(pathname);
  useEffect(() => {
    if (last.current === pathname) return;
    last.current = pathname;
    const main = document.getElementById(MAIN);
    main?.scrollTo(0, 0);
    // The main input of the page may already have it.
    const focused = document.activeElement;
    if (focused instanceof HTMLInputElement && main?.contains(focused)) return;
    main?.focus({ preventScroll: true });
  }, [pathname]);
  return null;
}

function TopBar(props: { name: string; tools: readonly ReactNode[]; sidebar: SidebarState }): ReactNode {
  const { name, tools, sidebar } = props;
  return (
    <Masthead>
      <MastheadMain>
        <MastheadToggle>
          <Button
            variant="plain"
            aria-label="Navigation"
            aria-expanded={sidebar.isOpen}
            aria-controls={SIDEBAR}
            icon={<BarsIcon />}
            onClick={sidebar.toggle}
          />
        </MastheadToggle>
        <MastheadBrand>
          <Link to="/" className="pf-v6-c-masthead__logo">
            <span className="brand">{name}</span>
          </Link>
        </MastheadBrand>
      </MastheadMain>
      <MastheadContent>
        <div className="tools">{Children.map(tools, (tool) => tool !== null && <div>{tool}</div>)}</div>
      </MastheadContent>
    </Masthead>
  );
}

/** A button that switches between light and dark, with the icon of the other theme. */
export function ThemeButton(): ReactNode {
  const dark = useSyncExternalStore(onTheme, isDark);
  const text = `Switch to the ${dark ? 'light' : 'dark'} theme`;
  return (
    <Button
      variant="plain"
      aria-label={text}
      title={text}
      icon={dark ? <SunIcon /> : <MoonIcon />}
      onClick={changeTheme}
    />
  );
}

function Sidebar(props: { navigation: Navigation; sidebar: SidebarState }): ReactNode {
  const { navigation } = props;
  const { isOpen, isAbove, closeAbove } = props.sidebar;
  const state = isOpen ? (isAbove ? ' pf-m-expanded' : '') : ' pf-m-collapsed';
  return (
    <div id={SIDEBAR} className={`pf-v6-c-page__sidebar${state}`} inert={!isOpen}>
      <div className="pf-v6-c-page__sidebar-main">
        <div className="pf-v6-c-page__sidebar-body">
          <nav className="pf-v6-c-nav" aria-label="Navigation">
            {navigation.map(([group, entries]) =>
              group === null ? (
                <NavigationList key="top" entries={entries} onFollow={closeAbove} />
              ) : (
                <NavigationGroup key={group} title={group} entries={entries} onFollow={closeAbove} />
              ),
            )}
          </nav>
        </div>
      </div>
    </div>
  );
}

interface ListProps {
  readonly entries: Navigation[number][1];
  readonly onFollow: () => void;
}

function NavigationGroup({ title, ...list }: ListProps & { title: string }): ReactNode {
  const id = useId();
  return (
    <section className="pf-v6-c-nav__section" aria-labelledby={id}>
      <h2 className="pf-v6-c-nav__section-title" id={id}>
        {title}
      </h2>
      <NavigationList {...list} />
    </section>
  );
}

function NavigationList({ entries, onFollow }: ListProps): ReactNode {
  const { pathname } = useLocation();
  return (
    // Safari announces a list without markers as one only with the role.
    // biome-ignore lint/a11y/noRedundantRoles: see above
    <ul className="pf-v6-c-nav__list" role="list">
      {entries.map(({ path, search = '', title, others = [] }) => {
        const isCurrent =
          path === '/' ? pathname === '/' : [path, ...others].some((each) => isBelow(pathname, each));
        return (
          <li key={path} className="pf-v6-c-nav__item">
            <Link
              to={`${path}${search}`}
              className={`pf-v6-c-nav__link${isCurrent ? ' pf-m-current' : ''}`}
              aria-current={isCurrent ? 'page' : undefined}
              onClick={onFollow}
            >
              {title}
            </Link>
          </li>
        );
      })}
    </ul>
  );
}

function isBelow(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(`${path}/`);
}

/** Shows a page's failure in its place. The frame stays. */
class FailureBoundary extends Component<{ readonly children: ReactNode }, { readonly error: Error | null }> {
  override state: { readonly error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error): { readonly error: Error } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    // A page that cannot be loaded usually belongs to an older version, whose files are deleted after an update.
    return (
      <PageSection>
        <Failed error={error} retry={() => window.location.reload()} isPage />
      </PageSection>
    );
  }
}
