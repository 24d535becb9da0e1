/** The pages of the web interface. Each except the first is in a file that is loaded when it is first shown. */
import { type ComponentType, lazy } from 'react';
import { matchPath } from 'react-router';
import { Dashboard } from './dashboard.tsx';
import type { KindPages } from './resource-forms.tsx';

export interface PageRoute {
  /** The router's pattern. Its first segment must be in `SECTIONS` of service/src/pages/web-interface.ts. */
  readonly path: string;
  readonly page: LoadedPage;
}

/** A page that may be in a separate file. */
export interface LoadedPage {
  /** Loads it, so that it can be shown at once. */
  readonly load: () => Promise<unknown>;
  /** Its loaded component, or one that loads it when it is shown. */
  readonly component: () => ComponentType;
}

function loadedPage(load: () => Promise<ComponentType>): LoadedPage {
  let loaded: ComponentType | null = null;
  const loadPart = async () => {
    loaded = await load();
    return { default: loaded };
  };
  const whenShown = lazy(loadPart);
  return { load: loadPart, component: () => loaded ?? whenShown };
}

/** A page by the name of its export. */
function page<Name extends string>(load: () => Promise<Readonly<Record<Name, ComponentType>>>, name: Name) {
  return loadedPage(async () => (await load())[name]);
}

/** The pages of a kind of resource by export name, with the path segments of its tabs. */
function kindPages<Name extends string>(
  path: string,
  load: () => Promise<Readonly<Record<Name, KindPages>>>,
  name: Name,
  tabs: readonly string[] = [],
): readonly PageRoute[] {
  const route = (end: string, of: (pages: KindPages) => ComponentType | undefined): PageRoute => ({
    path: `${path}${end}`,
    page: loadedPage(async () => {
      const shown = of((await load())[name]);
      if (shown === undefined) throw new Error(`${name} has no page ${end}`);
      return shown;
    }),
  });
  return [
    route('', ({ list }) => list),
    route('/add', ({ add }) => add),
    route('/:id', ({ one }) => one),
    route('/:id/edit', ({ edit }) => edit),
    ...tabs.map((tab) => route(`/:id/${tab}`, (pages) => pages.tabs[tab])),
  ];
}

/** The first page that matches a URL; undefined for an unknown one. */
export function pageAt(pathname: string): PageRoute | undefined {
  return PAGES.find(({ path }) => matchPath(path, pathname) !== null);
}

/** Loads the page of a URL, so that it is shown without a spinner. */
export async function loadPage(pathname: string): Promise<void> {
  // A failure occurs again when the page is shown, which reports it.
  await pageAt(pathname)
    ?.page.load()
    .catch(() => undefined);
}

const users = () => import('./users.tsx');
const organizations = () => import('./organizations.tsx');
const tokens = () => import('./tokens.tsx');
const settings = () => import('./settings.tsx');
const applications = () => import('./applications.tsx');
const inventories = () => import('./inventories.tsx');
const templates = () => import('./templates.tsx');
const jobs = () => import('./jobs/jobs.tsx');

/** All pages. Those with a fixed path come before patterns that match them too. */
const PAGES: readonly PageRoute[] = [
  { path: '/', page: { load: () => Promise.resolve(), component: () => Dashboard } },
  ...kindPages('/users', users, 'USERS', ['organizations', 'teams', 'roles', 'tokens']),
  { path: '/users/:id/tokens/add', page: page(users, 'CreateUserToken') },
  ...kindPages('/organizations', organizations, 'ORGANIZATIONS', [
    'users',
    'admins',
    'auditors',
    'teams',
    'applications',
    'access',
  ]),
  ...kindPages('/teams', () => import('./teams.tsx'), 'TEAMS', ['users', 'admins', 'roles']),
  ...kindPages('/applications', applications, 'APPLICATIONS', ['tokens']),
  { path: '/applications/:id/tokens/add', page: page(applications, 'CreateApplicationToken') },
  { path: '/tokens', page: page(tokens, 'Tokens') },
  { path: '/tokens/:id', page: page(tokens, 'TokenPage') },
  { path: '/settings', page: page(settings, 'Settings') },
  { path: '/settings/:category', page: page(settings, 'Settings') },
  { path: '/activity', page: page(() => import('./activity.tsx'), 'Activity') },
  ...kindPages('/inventories', inventories, 'INVENTORIES', ['hosts', 'groups', 'access']),
  ...kindPages('/hosts', inventories, 'HOSTS'),
  ...kindPages('/groups', inventories, 'GROUPS', ['hosts', 'children']),
  ...kindPages('/projects', () => import('./projects.tsx'), 'PROJECTS', ['access']),
  ...kindPages('/credentials', () => import('./credentials.tsx'), 'CREDENTIALS', ['access']),
  ...kindPages('/templates', templates, 'TEMPLATES', ['jobs', 'access']),
  { path: '/templates/:id/launch', page: page(templates, 'LaunchTemplate') },
  { path: '/jobs', page: page(jobs, 'Jobs') },
  { path: '/jobs/:id', page: page(jobs, 'JobOutput') },
  { path: '/jobs/:id/results', page: page(jobs, 'JobResults') },
  { path: '/jobs/:id/details', page: page(jobs, 'JobDetails') },
];

export interface NavigationEntry {
  readonly path: string;
  readonly title: string;
  /** Whether only superusers and system auditors see it. */
  readonly forAuditors?: true;
}

export const NAVIGATION: readonly (readonly [string | null, readonly NavigationEntry[]])[] = [
  [
    null,
    [
      { path: '/', title: 'Dashboard' },
      { path: '/jobs', title: 'Jobs' },
    ],
  ],
  [
    'Resources',
    [
      { path: '/templates', title: 'Job templates' },
      { path: '/projects', title: 'Projects' },
      { path: '/inventories', title: 'Inventories' },
      { path: '/hosts', title: 'Hosts' },
      { path: '/groups', title: 'Groups' },
      { path: '/credentials', title: 'Credentials' },
    ],
  ],
  [
    'Access',
    [
      { path: '/organizations', title: 'Organizations' },
      { path: '/users', title: 'Users' },
      { path: '/teams', title: 'Teams' },
      { path: '/applications', title: 'Applications' },
      { path: '/tokens', title: 'Tokens' },
    ],
  ],
  [
    'Administration',
    [
      { path: '/activity', title: 'Activity stream' },
      { path: '/settings', title: 'Settings', forAuditors: true },
    ],
  ],
];
