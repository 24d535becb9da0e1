/** The pages of the web interface, each in a file of its own that is loaded when it is first shown. */
import { type ComponentType, type LazyExoticComponent, lazy } from 'react';

/** A page with its address. */
export interface PageRoute {
  /** The router's pattern. Its first segment has to be in `SECTIONS` of src/service/pages/web-interface.ts. */
  readonly path: string;
  readonly page: LazyExoticComponent<ComponentType>;
}

/** A page by the name of its export. */
function page<Name extends string>(
  load: () => Promise<Readonly<Record<Name, ComponentType>>>,
  name: Name,
): LazyExoticComponent<ComponentType> {
  return lazy(async () => ({ default: (await load())[name] as ComponentType }));
}

const users = () => import('./users.tsx');

/** All pages. */
export const PAGES: readonly PageRoute[] = [
  { path: '/', page: page(() => import('./dashboard.tsx'), 'Dashboard') },
  { path: '/users', page: page(users, 'Users') },
  { path: '/users/add', page: page(users, 'AddUser') },
  { path: '/users/:id', page: page(() => import('./user.tsx'), 'UserDetails') },
  { path: '/users/:id/edit', page: page(users, 'EditUser') },
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
  [null, [{ path: '/', title: 'Dashboard' }]],
  ['Access', [{ path: '/users', title: 'Users' }]],
];
