import { z } from 'zod';
import { type DatabaseSetting, databaseSetting } from './database-schema.ts';
import { secretReference } from './secret-reference.ts';

/** What a context or a group may be called: it is a key of the file, and part of a file's name. */
export const contextNamePattern = /^[A-Za-z0-9][\w.-]{0,63}$/;

const url = z.string().superRefine((value, { addIssue }) => {
  const parsed = URL.canParse(value) ? new URL(value) : undefined;
  if (parsed === undefined && /^https?:\/\//i.test(value)) {
    addIssue(unreadableUrl(value));
  } else if (parsed === undefined || !['http:', 'https:'].includes(parsed.protocol)) {
    addIssue('must be a URL that starts with https:// or http://');
  } else if (parsed.username !== '' || parsed.password !== '') {
    addIssue('must not hold a user name or password: use username, password or token');
  } else if (parsed.search !== '' || parsed.hash !== '') {
    addIssue('must be a base URL, without a query or fragment');
  }
});

/** What makes a URL unreadable although it starts like one. */
function unreadableUrl(value: string): string {
  const [, port] = /^[^:]+:\/\/[^/?#]*:([^/?#:\]]*)(?:[/?#]|$)/.exec(value) ?? [];
  return port !== undefined && !(/^\d+$/.test(port) && Number(port) <= 65_535)
    ? 'must be a URL, and its port is not one: ports go from 1 to 65535'
    : 'must be a URL, and its host name cannot be read';
}

const settings = z
  .strictObject({
    url: url.optional(),
    database: databaseSetting.optional(),
    username: z.string().min(1).optional(),
    token: secretReference.optional(),
    password: secretReference.optional(),
    caFile: z.string().min(1).optional(),
    verifyTls: z.boolean().optional(),
    /** Which component of a platform is meant; all that keep tokens where not given. */
    component: z.enum(['gateway', 'controller']).optional(),
  })
  .superRefine(({ url: _url, database, token, password, username, ...tls }, { addIssue }) => {
    if (token !== undefined && password !== undefined) addIssue('has both a token and a password: keep one');
    if (password !== undefined && username === undefined) addIssue('has a password and no username');
    if (database === undefined) return;
    const beside = Object.entries({ token, password, username, ...tls }).filter(
      ([, value]) => value !== undefined,
    );
    for (const [key] of beside) {
      addIssue({ code: 'custom', path: [key], message: 'goes with a url, and this context has a database' });
    }
  });

/** The shape of a context. */
export const contextSchema = settings.transform((context, { addIssue }): ContextSettings => {
  const { url, database, ...rest } = context;
  if (database !== undefined && url === undefined) return { database };
  if (url !== undefined && database === undefined) return { url, ...rest };
  addIssue(
    url === undefined ? 'has neither a url nor a database' : 'has both a url and a database: keep one',
  );
  return z.NEVER;
});

/** A context whose controller is reached over its REST API. */
export type RestContext = Omit<z.output<typeof settings>, 'database' | 'url'> & {
  readonly url: string;
  readonly database?: undefined;
};

/** A context whose controller is reached in its database. */
export interface DatabaseContext {
  readonly url?: undefined;
  readonly database: DatabaseSetting;
}

/** A context: one way to reach one controller. */
export type ContextSettings = RestContext | DatabaseContext;
