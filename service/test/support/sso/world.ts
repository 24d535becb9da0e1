import { expect } from 'vitest';
import type { RunningService } from '../../../src/server.ts';
import { ADMIN, type Body, basic, Client } from '../service.ts';
import { Browser, type Stop } from './browser.ts';

/** The superuser, by password. */
export function adminOf(service: Pick<RunningService, 'url'>): Client {
  return new Client(service.url, basic(ADMIN.username, ADMIN.password));
}

/** Sets settings, which have to be accepted. */
export async function set(
  service: RunningService,
  category: string,
  settings: Readonly<Record<string, unknown>>,
): Promise<Body> {
  const answer = await adminOf(service).patch(`/api/v2/settings/${category}/`, settings);
  expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, '']);
  return answer.json;
}

/** Whether an address is one that a provider sends users back to. */
export function isReturn(url: string): boolean {
  return new URL(url).pathname.startsWith('/sso/complete/');
}

/** Begins a login and answers the provider's page: as far as the address that leads back here. */
export async function untilReturn(
  service: RunningService,
  login: { browser?: Browser; backend: string; account: string; query?: string },
): Promise<{ readonly browser: Browser; readonly back: string }> {
  const { browser = new Browser(), backend, account, query = '' } = login;
  const page = await browser.open(`${service.url}/sso/login/${backend}/${query}`, isReturn);
  if (page.location !== null) return { browser, back: page.location };
  const answered = await browser.send(page.url, { account }, isReturn);
  expect([answered.status, answered.text, answered.location]).toEqual([
    expect.any(Number),
    expect.any(String),
    expect.stringContaining('/sso/complete/'),
  ]);
  return { browser, back: answered.location ?? '' };
}

/** Logs in through a provider, to the end. */
export async function logInThrough(
  service: RunningService,
  login: Parameters<typeof untilReturn>[1],
): Promise<{ readonly browser: Browser; readonly stop: Stop }> {
  const { browser, back } = await untilReturn(service, login);
  return { browser, stop: await browser.open(back) };
}

/** Who a browser is logged in as; null for no one. */
export async function whoIs(service: Pick<RunningService, 'url'>, browser: Browser): Promise<Body | null> {
  const answer = await browser.open(`${service.url}/api/v2/me/`);
  if (answer.status !== 200) return null;
  const body = JSON.parse(answer.text) as Body;
  return body.results[0] ?? null;
}

/** That a login ended at the error page, for this reason, and that no one is logged in. */
export async function expectRefused(
  service: Pick<RunningService, 'url'>,
  { browser, stop }: { browser: Browser; stop: Stop },
  reason: string,
): Promise<void> {
  const { pathname, searchParams } = new URL(stop.url);
  expect([pathname, searchParams.get('reason')]).toEqual(['/sso/error/', reason]);
  expect(stop.text).toContain(`Request ID: <code>${searchParams.get('request')}</code>`);
  expect(stop.status).toBeGreaterThanOrEqual(400);
  expect(stop.text).toContain('role="alert"');
  expect(browser.cookies.has('svc_sessionid')).toBe(false);
  expect(await whoIs(service, browser)).toBeNull();
}

/** The lines of a service's log, as data. Give it as `logTo`, with a level that includes warnings. */
export class LogLines {
  readonly lines: Record<string, unknown>[] = [];

  write(line: string): void {
    this.lines.push(JSON.parse(line) as Record<string, unknown>);
  }

  /** The line about the failed login that ended at this page. */
  ofFailure(stop: Stop): Record<string, unknown> | undefined {
    const id = new URL(stop.url).searchParams.get('request');
    return this.lines.find((line) => line['request'] === id && line['reason'] !== undefined);
  }
}
