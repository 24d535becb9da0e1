/** The pages of the web interface, each but the first in a file of its own that is loaded when it is first shown. */
import { type ComponentType, lazy } from 'react';
import { matchPath } from 'react-router';
import { Dashboard } from './dashboard.tsx';

/** A page with its address. */
export interface PageRoute {
  /** The router's pattern. Its first segment has to be in `SECTIONS` of src/service/pages/web-interface.ts. */
  readonly path: string;
  readonly page: LoadedPage;
}

/** A page that may have a file of its own. */
export interface LoadedPage {
  /** Loads it, so that it is shown at once. */
  readonly load: () => Promise<unknown>;
  /** Its component: as it was loaded, or one that loads it when it is shown. */
  readonly component: () => ComponentType;
}

/** A page by the name of its export. */
function page<Name extends string>(
  load: () => Promise<Readonly<Record<Name, ComponentType>>>,
  name: Name,
): LoadedPage {
  let loaded: ComponentType | null = null;
  const loadPart = async () => {
    loaded = (await load())[name];
    return { default: loaded };
  };
  const whenShown = lazy(loadPart);
  return { load: loadPart, component: () => loaded ?? whenShown };
}

/** The page of an address; undefined for an unknown one. The first one that matches is meant. */
export function pageAt(pathname: string): PageRoute | undefined {
  return PAGES.find(({ path }) => matchPath(path, pathname) !== null);
}

/** Loads the page of an address, so that it is shown without a spinner before it. */
export async function loadPage(pathname: string): Promise<void> {
  // Where it fails, it fails again when the page is shown, which says so.
  await pageAt(pathname)
    ?.page.load()
    .catch(() => undefined);
}

const users = () => import('./users.tsx');
const user = () => import('./user.tsx');
const organizations = () => import('./organizations.tsx');
const teams = () => import('./teams.tsx');
const settings = () => import('./settings.tsx');
const applications = () => import('./applications.tsx');
const inventories = () => import('./inventories.tsx');
const groups = () => import('./groups.tsx');
const projects = () => import('./projects.tsx');
const credentials = () => import('./credentials.tsx');
const templates = () => import('./templates.tsx');
const jobs = () => import('./jobs.tsx');

/** All pages, those with a fixed address before those that it would match as well. */
const PAGES: readonly PageRoute[] = [
  { path: '/', page: { load: () => Promise.resolve(), component: () => Dashboard } },
  { path: '/users', page: page(users, 'Users') },
  { path: '/users/add', page: page(users, 'AddUser') },
  { path: '/users/:id', page: page(user, 'UserDetails') },
  { path: '/users/:id/organizations', page: page(user, 'UserOrganizations') },
  { path: '/users/:id/teams', page: page(user, 'UserTeams') },
  { path: '/users/:id/roles', page: page(user, 'UserRoles') },
  { path: '/users/:id/tokens', page: page(user, 'UserTokens') },
  { path: '/users/:id/tokens/add', page: page(user, 'CreateUserToken') },
  { path: '/users/:id/edit', page: page(users, 'EditUser') },
  { path: '/organizations', page: page(organizations, 'Organizations') },
  { path: '/organizations/add', page: page(organizations, 'AddOrganization') },
  { path: '/organizations/:id', page: page(organizations, 'OrganizationDetails') },
  { path: '/organizations/:id/edit', page: page(organizations, 'EditOrganization') },
  { path: '/organizations/:id/users', page: page(organizations, 'OrganizationMembers') },
  { path: '/organizations/:id/admins', page: page(organizations, 'OrganizationAdmins') },
  { path: '/organizations/:id/auditors', page: page(organizations, 'OrganizationAuditors') },
  { path: '/organizations/:id/teams', page: page(organizations, 'OrganizationTeams') },
  { path: '/organizations/:id/applications', page: page(organizations, 'OrganizationApplications') },
  { path: '/organizations/:id/access', page: page(organizations, 'OrganizationAccess') },
  { path: '/teams', page: page(teams, 'Teams') },
  { path: '/teams/add', page: page(teams, 'AddTeam') },
  { path: '/teams/:id', page: page(teams, 'TeamDetails') },
  { path: '/teams/:id/edit', page: page(teams, 'EditTeam') },
  { path: '/teams/:id/users', page: page(teams, 'TeamMembers') },
  { path: '/teams/:id/admins', page: page(teams, 'TeamAdmins') },
  { path: '/teams/:id/roles', page: page(teams, 'TeamRoles') },
  { path: '/applications', page: page(applications, 'Applications') },
  { path: '/applications/add', page: page(applications, 'AddApplication') },
  { path: '/applications/:id', page: page(applications, 'ApplicationDetails') },
  { path: '/applications/:id/edit', page: page(applications, 'EditApplication') },
  { path: '/applications/:id/tokens', page: page(applications, 'ApplicationTokens') },
  { path: '/applications/:id/tokens/add', page: page(applications, 'CreateApplicationToken') },
  { path: '/tokens', page: page(() => import('./tokens.tsx'), 'Tokens') },
  { path: '/settings', page: page(settings, 'Settings') },
  { path: '/settings/:category', page: page(settings, 'Settings') },
  { path: '/activity', page: page(() => import('./activity.tsx'), 'Activity') },
  { path: '/inventories', page: page(inventories, 'Inventories') },
  { path: '/inventories/add', page: page(inventories, 'AddInventory') },
  { path: '/inventories/:id', page: page(inventories, 'InventoryDetails') },
  { path: '/inventories/:id/hosts', page: page(inventories, 'InventoryHosts') },
  { path: '/inventories/:id/groups', page: page(groups, 'InventoryGroups') },
  { path: '/inventories/:id/access', page: page(inventories, 'InventoryAccess') },
  { path: '/inventories/:id/edit', page: page(inventories, 'EditInventory') },
  { path: '/hosts', page: page(inventories, 'Hosts') },
  { path: '/hosts/add', page: page(inventories, 'AddHost') },
  { path: '/hosts/:id', page: page(inventories, 'HostDetails') },
  { path: '/hosts/:id/edit', page: page(inventories, 'EditHost') },
  { path: '/groups', page: page(groups, 'Groups') },
  { path: '/groups/add', page: page(groups, 'AddGroup') },
  { path: '/groups/:id', page: page(groups, 'GroupDetails') },
  { path: '/groups/:id/hosts', page: page(groups, 'GroupHosts') },
  { path: '/groups/:id/children', page: page(groups, 'GroupChildren') },
  { path: '/groups/:id/edit', page: page(groups, 'EditGroup') },
  { path: '/projects', page: page(projects, 'Projects') },
  { path: '/projects/add', page: page(projects, 'AddProject') },
  { path: '/projects/:id', page: page(projects, 'ProjectDetails') },
  { path: '/projects/:id/access', page: page(projects, 'ProjectAccess') },
  { path: '/projects/:id/edit', page: page(projects, 'EditProject') },
  { path: '/credentials', page: page(credentials, 'Credentials') },
  { path: '/credentials/add', page: page(credentials, 'AddCredential') },
  { path: '/credentials/:id', page: page(credentials, 'CredentialDetails') },
  { path: '/credentials/:id/access', page: page(credentials, 'CredentialAccess') },
  { path: '/credentials/:id/edit', page: page(credentials, 'EditCredential') },
  { path: '/templates', page: page(templates, 'Templates') },
  { path: '/templates/add', page: page(templates, 'AddTemplate') },
  { path: '/templates/:id', page: page(templates, 'TemplateDetails') },
  { path: '/templates/:id/jobs', page: page(templates, 'TemplateJobs') },
  { path: '/templates/:id/access', page: page(templates, 'TemplateAccess') },
  { path: '/templates/:id/edit', page: page(templates, 'EditTemplate') },
  { path: '/templates/:id/launch', page: page(templates, 'LaunchTemplate') },
  { path: '/jobs', page: page(jobs, 'Jobs') },
  { path: '/jobs/:id', page: page(jobs, 'JobOutput') },
  { path: '/jobs/:id/results', page: page(jobs, 'JobResults') },
  { path: '/jobs/:id/details', page: page(jobs, 'JobDetails') },
];

/** An entry of the navigation. */
export interface NavigationEntry {
  readonly path: string;
  readonly title: string;
  /** Whether only superusers and system auditors see it. */
  readonly forAuditors?: true;
}

/** The navigation: groups with their entries. */
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
