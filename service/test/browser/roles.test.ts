import { startChromium } from '@tokenctl/testing/chromium.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import { logIn, loseCookies } from '@tokenctl/testing/web-stories.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { ADMIN, type Body, type Client, SECRET_KEY, startTestService } from '../support/service.ts';
import { adminOf, set } from '../support/sso/world.ts';

const chromium = findChromium();
const PASSWORD = 'a-long-password';

describe.skipIf(chromium === null)('the web interface for users with different rights', () => {
  let service: RunningService;
  let browser: Browser;
  let admin: Client;
  let operations: number;
  let team: number;
  let inventory: number;

  const made = async (path: string, json: unknown): Promise<Body> => {
    const answer = await admin.post(`/api/v2/${path}/`, json);
    if (answer.status !== 201) throw new Error(`${path}: ${answer.text}`);
    return answer.json;
  };

  beforeAll(async () => {
    [browser, service] = await Promise.all([
      startChromium(chromium ?? ''),
      startTestService({ secretKey: SECRET_KEY }),
    ]);
    admin = adminOf(service);
    operations = (await made('organizations', { name: 'Operations' })).id;
    team = (await made('teams', { name: 'Day shift', organization: operations })).id;
    inventory = (await made('inventories', { name: 'Racks', organization: operations })).id;
    await made('users', { username: 'ned', password: PASSWORD });
    await made('users', { username: 'auditor', password: PASSWORD, is_system_auditor: true });
    await made(`organizations/${operations}/admins`, { username: 'orla', password: PASSWORD });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
  });

  /** Opens a page by way of the login. */
  async function open(path: string, username: string, work: (page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
    const problems: string[] = [];
    const page = await context.newPage();
    page.on('pageerror', ({ message }) => problems.push(message));
    await page.goto(`${service.url}${path}`);
    await logIn(page, { username, password: username === ADMIN.username ? ADMIN.password : PASSWORD });
    await work(page);
    expect(problems).toEqual([]);
    await context.close();
  }

  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
  const heading = (page: Page, name: string | RegExp) =>
    page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  const field = (page: Page, name: string) => page.locator('form').getByLabel(name);
  const expired = (page: Page) => page.getByRole('dialog', { name: 'Your session has expired' });

  it('lets an organization administrator manage this organization, and shows no other', () =>
    open(`/organizations/${operations}/users`, 'orla', async (page) => {
      expect(await page.getByRole('link', { name: 'Settings' }).count()).toBe(0);
      await press(page, 'Add member');
      await field(page, 'User').selectOption('orla');
      await page.getByRole('dialog').getByRole('button', { name: 'Add member' }).click();
      await press(page, 'Remove orla');
      await page.getByText('orla is no longer a member.').waitFor();

      await page.getByRole('link', { name: 'Auditors' }).click();
      await press(page, 'Add auditor');
      await field(page, 'User').selectOption('orla');
      await page.getByRole('dialog').getByRole('button', { name: 'Add auditor' }).click();
      await page.getByText('Added an auditor.').waitFor();
      await press(page, 'Remove orla');
      await page.getByText('orla is no longer an auditor.').waitFor();

      await page.getByRole('link', { name: 'Users' }).first().click();
      await page.getByRole('link', { name: 'Create user' }).click();
      await field(page, 'Username').fill('otto');
      await field(page, 'Password').fill(PASSWORD);
      await field(page, 'Organization').selectOption('Operations');
      await press(page, 'Create user');
      await heading(page, 'otto');

      await page.getByRole('link', { name: 'Inventories' }).click();
      await page.getByRole('link', { name: 'Create inventory' }).click();
      await field(page, 'Name').fill('Shelves');
      expect(await field(page, 'Organization').locator('option').allTextContents()).not.toContain('Default');
      await field(page, 'Organization').selectOption('Operations');
      await press(page, 'Create inventory');
      await heading(page, 'Shelves');
      await page.goto(`${service.url}/organizations/1`);
      await page.getByText('Access denied').waitFor();
      await page.getByRole('link', { name: 'Back to the list' }).click();
      await heading(page, 'Organizations');
      await page.goto(`${service.url}/settings/authentication`);
      await page.getByText('Access denied').waitFor();
    }));

  it('lets an organization administrator manage teams', async () => {
    await made(`organizations/${operations}/users`, { username: 'oscar', password: PASSWORD });
    await open('/teams', 'orla', async (page) => {
      await page.getByRole('link', { name: 'Create team' }).click();
      await field(page, 'Name').fill('Night shift');
      await field(page, 'Organization').selectOption('Operations');
      await press(page, 'Create team');
      await heading(page, 'Night shift');
      for (const [tab, noun] of [
        ['Members', 'a member'],
        ['Administrators', 'an administrator'],
      ] as const) {
        await page.getByRole('link', { name: tab, exact: true }).click();
        const add = `Add ${noun.split(' ')[1]}`;
        await press(page, add);
        await field(page, 'User').selectOption('oscar');
        await page.getByRole('dialog').getByRole('button', { name: add }).click();
        await page.getByText(`Added ${noun}.`).waitFor();
        await page.getByRole('link', { name: 'oscar', exact: true }).waitFor();
      }
      await press(page, 'Remove oscar');
      await page.getByText('oscar is no longer an administrator.').waitFor();
      await page.getByRole('link', { name: 'Members', exact: true }).click();
      await page.getByRole('link', { name: 'oscar', exact: true }).click();
      await page.getByRole('main').getByRole('link', { name: 'Teams', exact: true }).click();
      await page.getByRole('link', { name: 'Night shift', exact: true }).click();
      // Only superusers move a team.
      await page.getByRole('link', { name: 'Edit', exact: true }).click();
      expect(await field(page, 'Organization').count()).toBe(0);
      await field(page, 'Description').fill('From ten to six');
      await press(page, 'Save');
      await page.getByText('From ten to six').waitFor();
      await page.goto(`${service.url}/organizations/${operations}/teams`);
      await page.getByRole('link', { name: 'Create team' }).waitFor();
      await page.getByRole('link', { name: 'Night shift', exact: true }).waitFor();
      // The page is the organization's.
      expect(await page.getByRole('columnheader', { name: 'Organization' }).count()).toBe(0);
    });
  });

  it('shows a deactivated user as such, who is deactivated, activated and deleted in the page', async () => {
    const { id } = await made(`organizations/${operations}/users`, { username: 'dana', password: PASSWORD });
    const logsIn = async () => {
      const authorization = `Basic ${Buffer.from(`dana:${PASSWORD}`).toString('base64')}`;
      return (await fetch(`${service.url}/api/v2/me/`, { headers: { authorization } })).status;
    };
    expect(await logsIn()).toBe(200);
    await open(`/users/${id}`, ADMIN.username, async (page) => {
      await press(page, 'Deactivate');
      await page.getByRole('dialog', { name: 'Deactivate dana?' }).waitFor();
      await press(page, 'Cancel');
      await page.getByText('Active', { exact: true }).waitFor();
      await press(page, 'Deactivate');
      await press(page, 'Deactivate user');
      await page.getByText('Deactivated dana.').waitFor();
      await page.getByText('dana is deactivated and cannot log in.').waitFor();
      expect(await logsIn()).toBe(401);
      for (const path of ['/users', '/users?is_active=false', `/organizations/${operations}/users`]) {
        await page.goto(`${service.url}${path}`);
        const row = page.getByRole('row').filter({ hasText: 'dana' });
        await row.getByText('Deactivated', { exact: true }).waitFor();
      }
      await page.goto(`${service.url}/users/${id}/tokens`);
      await page.getByText('dana is deactivated and cannot log in.').waitFor();
      await press(page, 'Activate');
      await page.getByText('Activated dana.').waitFor();
      expect(await logsIn()).toBe(200);
      await press(page, 'Deactivate');
      await press(page, 'Deactivate user');
      await page.getByText('Deactivated dana.').waitFor();
      await page.goto(`${service.url}/users/${id}`);
      await press(page, 'Delete');
      await press(page, 'Delete user');
      await heading(page, 'Users');
      await page.getByText('Deleted 1 user.').waitFor();
      expect((await admin.get(`/api/v2/users/${id}/`)).status).toBe(404);
      // No one deactivates themselves.
      await page.goto(`${service.url}/users/1`);
      await page.getByText('Active', { exact: true }).waitFor();
      expect(await page.getByRole('button', { name: 'Deactivate' }).count()).toBe(0);
    });
    await open(`/users/1`, 'auditor', async (page) => {
      await page.getByText('Active', { exact: true }).waitFor();
      expect(await page.getByRole('button', { name: 'Deactivate' }).count()).toBe(0);
    });
  });

  it('lets an organization administrator give a role, which shows an ordinary user what it is for', async () => {
    await open(`/inventories/${inventory}/access`, 'orla', async (page) => {
      await press(page, 'Assign role');
      await field(page, 'Role').selectOption({ label: 'Admin: Can manage all aspects of the inventory' });
      await field(page, 'User').selectOption('ned');
      await page.getByRole('dialog').getByRole('button', { name: 'Assign role' }).click();
      await page.getByText('Assigned the role Admin.').waitFor();
      await press(page, 'Assign role');
      await field(page, 'Role').selectOption({ label: 'Read: May view settings for the inventory' });
      await field(page, 'To').selectOption('The members of a team');
      await field(page, 'Team').selectOption('Day shift');
      await page.getByRole('dialog').getByRole('button', { name: 'Assign role' }).click();
      await page.getByText('Assigned the role Read.').waitFor();
      await page.getByRole('link', { name: 'Day shift' }).click();
      await page.getByRole('main').getByRole('link', { name: 'Roles', exact: true }).click();
      await page.getByRole('row').filter({ hasText: 'Racks' }).getByText('Read', { exact: true }).waitFor();
    });
    const { id } = (await admin.get('/api/v2/users/?username=ned')).json.results[0] ?? { id: 0 };
    await open('/inventories', 'ned', async (page) => {
      await page.getByRole('link', { name: 'Racks' }).click();
      await heading(page, 'Racks');
      await page.getByRole('link', { name: 'Edit' }).waitFor();
      // Hosts can be created in it, but no inventory.
      await page.goto(`${service.url}/hosts`);
      await page.getByRole('link', { name: 'Create host' }).waitFor();
      await page.goto(`${service.url}/inventories`);
      await page.getByRole('link', { name: 'Racks' }).waitFor();
      await page.waitForLoadState('networkidle');
      expect(await page.getByRole('link', { name: /^Create/ }).count()).toBe(0);
      await page.goto(`${service.url}/users/${id}/roles`);
      await page.getByRole('row').filter({ hasText: 'Racks' }).getByText('Admin', { exact: true }).waitFor();
    });
    await open(`/inventories/${inventory}/access`, 'orla', async (page) => {
      await press(page, 'Remove the role Admin from ned');
      await page.getByText('ned no longer has the role Admin here.').waitFor();
      await page.getByRole('link', { name: 'ned' }).waitFor({ state: 'detached' });
    });
    await open(`/inventories/${inventory}/access`, 'auditor', async (page) => {
      await page.getByRole('link', { name: 'Day shift' }).waitFor();
      expect(await page.getByRole('button', { name: /role/ }).count()).toBe(0);
    });
  });

  it('does not tell a user who may see none that there are none', async () => {
    await open('/templates', 'ned', async (page) => {
      for (const [path, name] of [
        ['templates', 'job templates'],
        ['inventories', 'inventories'],
        ['jobs', 'jobs'],
      ]) {
        await page.goto(`${service.url}/${path}`);
        await page.getByRole('heading', { name: `No ${name} that you can access` }).waitFor();
        expect(await page.getByText(/ yet$/).count()).toBe(0);
      }
      await page.goto(`${service.url}/tokens`);
      await page.getByRole('heading', { name: 'You have no tokens yet' }).waitFor();
      const me = (await admin.get('/api/v2/users/?username=ned')).json.results[0];
      await page.goto(`${service.url}/users/${me?.id}/tokens`);
      await page.getByRole('heading', { name: 'You have no tokens yet' }).waitFor();
      // Of nothing there are no pages.
      expect(await page.locator('.pf-v6-c-pagination').isVisible()).toBe(false);
    });
    await open('/credentials?name=none', 'auditor', async (page) => {
      await page.getByRole('heading', { name: 'No credentials match' }).waitFor();
      await page.goto(`${service.url}/applications`);
      await page.getByRole('heading', { name: 'No applications yet' }).waitFor();
      const pages = page.getByRole('navigation', { name: 'Pages of' });
      expect(await pages.count()).toBe(0);
      await page.goto(`${service.url}/users`);
      await pages.first().waitFor();
    });
  });

  it('shows an auditor everything, to change nothing but own tokens', () =>
    open('/settings/authentication', 'auditor', async (page) => {
      await page.getByText('Only superusers can change settings.').waitFor();
      expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
      for (const path of [
        `/organizations/${operations}`,
        `/organizations/${operations}/admins`,
        `/organizations/${operations}/teams`,
        '/teams',
        `/teams/${team}/users`,
        '/users/1',
        '/applications',
        `/inventories/${inventory}`,
      ]) {
        await page.goto(`${service.url}${path}`);
        await heading(page, /./);
        await page.getByRole('progressbar').waitFor({ state: 'detached' });
        const offers = page.getByRole('main').getByText(/^(Create|Edit|Add|Remove|Delete)\b/);
        expect([path, await offers.allTextContents()]).toEqual([path, []]);
        expect([path, await page.getByRole('main').getByRole('checkbox').count()]).toEqual([path, 0]);
      }
      const boxes = page.getByRole('main').getByRole('row').getByRole('checkbox', { disabled: false });
      await made('tokens', { scope: 'read', description: 'of another user' });
      await page.goto(`${service.url}/tokens`);
      await page.getByRole('link', { name: 'Create token' }).waitFor();
      await page.getByText('of another user').waitFor();
      expect(await boxes.count()).toBe(0);
      const own = await page.evaluate(async () => {
        const [, token = ''] = /csrftoken=([^;]*)/.exec(document.cookie) ?? [];
        const headers = { 'X-CSRFToken': token, 'Content-Type': 'application/json' };
        return (await fetch('/api/v2/tokens/', { method: 'POST', headers, body: '{"scope":"read"}' })).status;
      });
      expect(own).toBe(201);
      await page.reload();
      // That of the auditor, and the one for all of these.
      await boxes.nth(1).waitFor();
      expect(await boxes.count()).toBe(2);
    }));

  it('tells an external user why no token can be created, until the settings allow it', async () => {
    const { id } = await made('users', { username: 'exa', password: PASSWORD });
    await open(`/users/${id}/tokens`, 'exa', async (page) => {
      await page.getByRole('link', { name: 'Create token' }).waitFor();
      await service.database.execute(
        "INSERT INTO social_auth_usersocialauth (provider, uid, user_id) VALUES ('github', '7', $1)",
        [id],
      );
      await page.reload();
      await page.getByText('Your account is from an identity provider.').waitFor();
      await page.getByRole('link', { name: 'Create token' }).click();
      await page.getByText('Your account is from an identity provider.').waitFor();
      await field(page, 'Description').fill('For the backup');
      await press(page, 'Create token');
      await page.getByText('OAuth2 Tokens cannot be created by users associated with an external').waitFor();
      expect(await field(page, 'Description').inputValue()).toBe('For the backup');
      await set(service, 'authentication', { ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true });
      await press(page, 'Create token');
      await page.getByRole('dialog', { name: 'Token created' }).waitFor();
      await press(page, 'Close');
      await page.getByRole('row').filter({ hasText: 'For the backup' }).waitFor();
    });
  });

  it('names who would lose access before local accounts are disabled', () =>
    open('/settings/authentication', ADMIN.username, async (page) => {
      const names = (await admin.get('/api/v2/users/?page_size=200')).json.results
        .filter(({ external_account }: Body) => external_account === null)
        .map(({ username }: Body) => username);
      await page.getByRole('checkbox', { name: 'Disable local accounts' }).check();
      await press(page, 'Save');
      const dialog = page.getByRole('dialog', { name: 'Disable an authentication method?' });
      await dialog.getByText('You are one of them.').waitFor();
      await dialog.getByText('The login page has no identity provider.').waitFor();
      for (const name of names) expect(await dialog.textContent()).toContain(name);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      expect(await page.getByRole('checkbox', { name: 'Disable local accounts' }).isChecked()).toBe(true);
      const { json } = await admin.get('/api/v2/settings/authentication/');
      expect(json.DISABLE_LOCAL_AUTH).toBe(false);
    }));

  it('resets a setting to its default, and removes a stored secret', async () => {
    await set(service, 'github', {
      SOCIAL_AUTH_GITHUB_LABEL: 'Our GitHub',
      SOCIAL_AUTH_GITHUB_SECRET: 'a-secret',
    });
    await open('/settings/github', ADMIN.username, async (page) => {
      const save = async () => {
        await press(page, 'Save');
        await page.getByText('Saved the settings.').waitFor();
        return (await admin.get('/api/v2/settings/github/')).json;
      };
      await page.getByText('In JSON, such as { "Night": {').waitFor();
      await press(page, 'Remove the stored value: Client secret');
      await press(page, 'Keep the stored value: Client secret');
      await press(page, 'Reset to default: Label');
      expect(await save()).toMatchObject({
        SOCIAL_AUTH_GITHUB_LABEL: 'GitHub',
        SOCIAL_AUTH_GITHUB_SECRET: '$encrypted$',
      });
      expect(await page.getByRole('button', { name: 'Reset to default: Label' }).count()).toBe(0);
      await press(page, 'Remove the stored value: Client secret');
      expect(await save()).toMatchObject({ SOCIAL_AUTH_GITHUB_SECRET: '' });
      await page.getByRole('button', { name: 'Remove the stored value' }).waitFor({ state: 'detached' });
    });
  });

  it('keeps a change when the session expires, and goes on after a login elsewhere', () =>
    open(`/inventories/${inventory}/edit`, ADMIN.username, async (page) => {
      await field(page, 'Description').fill('All racks');
      await loseCookies(page, 'svc_sessionid');
      await press(page, 'Save');
      const [other] = await Promise.all([
        page.context().waitForEvent('page'),
        expired(page).getByRole('link', { name: 'Log in in a new tab' }).click(),
      ]);
      await logIn(other, ADMIN);
      await other.getByRole('heading', { name: 'Dashboard' }).waitFor();
      await other.close();
      await expired(page).waitFor({ state: 'detached' });
      await press(page, 'Save');
      await heading(page, 'Racks');
      await page.getByText('All racks').waitFor();

      // A form that has to read something after the session expired reads it after the login.
      await page.goto(`${service.url}/templates/add`);
      await field(page, 'Name').fill('Kept');
      await field(page, 'Project')
        .locator('option', { hasText: 'Demo Project' })
        .waitFor({ state: 'attached' });
      const cookies = await page.context().cookies();
      await loseCookies(page, 'svc_sessionid');
      await field(page, 'Project').selectOption('Demo Project');
      await expired(page).waitFor();
      await page.context().addCookies(cookies);
      await expired(page).waitFor({ state: 'detached' });
      await field(page, 'Playbook').selectOption('hello_world.yml');
      expect(await field(page, 'Name').inputValue()).toBe('Kept');
    }));

  it('renews a missing CSRF token, and loses nothing where it cannot', () =>
    open(`/inventories/${inventory}/edit`, ADMIN.username, async (page) => {
      await field(page, 'Description').fill('Renewed');
      await loseCookies(page, 'csrftoken');
      await press(page, 'Save');
      await heading(page, 'Racks');
      await page.getByText('Renewed').waitFor();
      await page.getByRole('link', { name: 'Edit' }).click();
      await field(page, 'Description').fill('Kept');
      await page.route('**/api/v2/inventories/**', async (route) => {
        const { 'x-csrftoken': _token, ...headers } = route.request().headers();
        await route.continue({ headers });
      });
      await press(page, 'Save');
      await page.getByText('CSRF Failed: CSRF token missing. Nothing was changed.').waitFor();
      expect(await field(page, 'Description').inputValue()).toBe('Kept');
      await page.unroute('**/api/v2/inventories/**');
      await press(page, 'Save');
      await heading(page, 'Racks');
      await page.reload();
      await page.getByText('Kept').waitFor();
    }));

  it('waits as long as the service asks for', () =>
    open('/', ADMIN.username, async (page) => {
      const refuseOnce = (method: string, wait: string) =>
        page.route(
          '**/api/v2/inventories/**',
          (route) =>
            route.request().method() === method
              ? route.fulfill({
                  status: 429,
                  headers: { 'retry-after': wait },
                  json: { detail: 'Slow down.' },
                })
              : route.fallback(),
          { times: 1 },
        );
      await page.getByRole('heading', { name: 'Dashboard' }).waitFor();
      await refuseOnce('GET', '4');
      await page.getByRole('link', { name: 'Inventories' }).first().click();
      await page.getByText(/^Slow down. Retrying in \d\ss.$/).waitFor();
      await page.getByRole('link', { name: 'Racks' }).click();
      await page.getByRole('link', { name: 'Edit' }).click();
      await field(page, 'Description').fill('In time');
      await refuseOnce('PATCH', '5');
      await press(page, 'Save');
      await page.getByRole('button', { name: /^Save \(in \d\ss\)$/, disabled: true }).waitFor();
      await page.getByText('Slow down. Try again in 5 seconds.').waitFor();
      // The button can be pressed once its time has come.
      await press(page, 'Save');
      await heading(page, 'Racks');
      await page.getByText('In time').waitFor();
    }));
});
