import { cookieHeader, type Requests } from './requests.ts';

/** A session, as requests carry it. */
export interface Session {
  readonly cookie: string;
  /** What requests that change something have to repeat. */
  readonly csrf: string;
  /** What makes it the session that it is, as the cookie has it. */
  readonly id: string;
}

/** Logs in as a browser does, at the path of the login page. Gives null where the login is refused. */
export async function logIn(
  requests: Requests,
  path: string,
  { name, password }: { name: string; password: string },
): Promise<Session | null> {
  const page = await requests.send(path, null, { headers: { accept: 'text/html' } });
  const csrfmiddlewaretoken = page.cookies.get('csrftoken') ?? '';
  const answer = await requests.send(path, null, {
    form: { csrfmiddlewaretoken, username: name, password, next: '/api/' },
    headers: { cookie: cookieHeader(page.cookies), referer: `${requests.url}${path}` },
  });
  const [, id] = [...answer.cookies].find(([cookie]) => cookie.includes('session')) ?? [];
  if (answer.status !== 302 || id === undefined) return null;
  const cookies = new Map([...page.cookies, ...answer.cookies]);
  return { cookie: cookieHeader(cookies), csrf: cookies.get('csrftoken') ?? '', id };
}
