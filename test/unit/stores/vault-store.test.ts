import { Secret } from '@tokenctl/common/secret.ts';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../../src/app/open-store.ts';
import { loadConfiguration } from '../../../src/config/configuration.ts';
import { storesSchema } from '../../../src/config/stores.ts';
import { type VaultLogin, type VaultStoreOptions, vaultStore } from '../../../src/stores/vault-store.ts';
import { ownCa } from '../../support/own-ca.ts';
import { type Policy, vaultServer } from '../../support/vault-server.ts';

const [old, fresh] = [new Secret('the old token'), new Secret('the new token')];
const PATH = 'ci/awx';
const policies: readonly Policy[] = [
  { path: 'secret/data/ci/*', capabilities: ['create', 'read', 'update'] },
];

async function place(options: Parameters<typeof vaultServer>[0] = {}) {
  const vault = await vaultServer(options);
  const store = (changed: Partial<VaultStoreOptions> = {}) => {
    const common = { url: vault.server.url, ca: undefined, namespace: undefined, mount: 'secret' };
    const login = { token: new Secret(vault.token(policies)) };
    return vaultStore({ ...common, path: PATH, key: 'token', login, ...changed }, 'The store ci');
  };
  return { vault, store };
}

const appRole = (secretId: string): VaultLogin => ({
  mount: 'approle',
  credentials: () => ({ role_id: 'deploy', secret_id: new Secret(secretId) }),
});

/** The error of a promise, as a user may get to see all of it. */
async function failure(act: Promise<unknown>): Promise<{ readonly code?: string; readonly text: string }> {
  const error = await act.then(
    () => ({}),
    (caught: object) => caught,
  );
  return { ...error, text: `${(error as Error).message} ${JSON.stringify(error)}` };
}

describe('a key in Vault', () => {
  it('is written with check-and-set and read back, and leaves what is beside it to the digit', async () => {
    const { vault, store } = await place();
    const at = store();
    expect(await at.read()).toBeNull();
    await at.write(old, null);
    expect((await at.read())?.reveal()).toBe('the old token');
    const beside = '"id":12345678901234567890,"price":1.10,"of":{"big":[9007199254740993,1e400]},"no":null';
    vault.put(PATH, `{"token":"the old token",${beside}}`);
    await at.write(fresh, old);
    expect(vault.stored(PATH)).toEqual({ data: `{"token":"the new token",${beside}}`, version: 3 });
  });

  it('is not written over what someone else wrote, and keeps another key that was written in between', async () => {
    const { vault, store } = await place();
    const at = store();
    vault.put(PATH, { token: 'of someone else' });
    for (const over of [old, null]) {
      await expect(at.write(fresh, over)).rejects.toMatchObject({ code: 'store_changed' });
    }
    vault.put(PATH, { token: 'the old token' });
    let value = 'the old token';
    let times = 1;
    vault.server.incident = ({ method }) => {
      if (method === 'POST' && times > 0) {
        times -= 1;
        vault.put(PATH, { token: value, other: 'new' });
      }
      return undefined;
    };
    await at.write(fresh, old);
    expect(JSON.parse(vault.stored(PATH)?.data ?? '')).toEqual({ token: 'the new token', other: 'new' });
    [value, times] = ['of someone else', 1];
    await expect(at.write(old, fresh)).rejects.toMatchObject({ code: 'store_changed' });
    // All the time: that is no other value.
    [value, times] = ['of someone else', 99];
    const error = await failure(at.write(old, new Secret('of someone else')));
    expect([error.code, error.text]).toEqual(['target_unreachable', expect.stringContaining('other keys')]);
  });

  it('begins anew after it was deleted, also for good', async () => {
    const { vault, store } = await place();
    const at = store();
    vault.put(PATH, { token: 'the old token' });
    for (const destroy of [false, true]) {
      vault.delete(PATH, { destroy });
      expect(await at.read()).toBeNull();
      await expect(at.write(fresh, old)).rejects.toMatchObject({ code: 'store_changed' });
      await at.write(fresh, null);
      expect((await at.read())?.reveal()).toBe('the new token');
    }
    vault.forget(PATH);
    expect(await at.read()).toBeNull();
    await at.write(old, null);
    expect(vault.stored(PATH)?.version).toBe(1);
    // A version that ends by itself is there until then.
    vault.deleteVersionAfter = 3_600_000;
    await at.write(fresh, old);
    expect((await at.read())?.reveal()).toBe('the new token');
  });

  it('is not known to be written after a cut connection, and reading tells', async () => {
    const { vault, store } = await place();
    const at = store();
    await at.write(old, null);
    for (const [cut, value] of [
      ['cut before', 'the old token'],
      ['cut after', 'the new token'],
      ['cut within', 'the new token'],
    ] as const) {
      vault.put(PATH, { token: 'the old token' });
      vault.server.incident = ({ method }) => (method === 'POST' ? cut : undefined);
      await expect(at.write(fresh, old)).rejects.toMatchObject({ code: 'target_unreachable' });
      expect((await at.read())?.reveal()).toBe(value);
    }
    await vault.server.stop();
    await expect(at.read()).rejects.toMatchObject({ code: 'target_unreachable' });
  });

  it.each([
    ['that is sealed', 503, { errors: ['Vault is sealed'] }, 'target_unreachable'],
    ['behind a proxy that fails', 502, '<html>Bad gateway</html>', 'target_unreachable'],
    ['that has too much to do', 429, { errors: ['quota'] }, 'target_unreachable'],
    ['at an address that is not its own', 404, '404 page not found\n', 'target_misbehaved'],
    ['that is none', 200, '<html></html>', 'target_misbehaved'],
    ['of version 1', 200, { data: { token: 'the old token' } }, 'target_misbehaved'],
  ])('is not read as missing at a server %s', async (_what, status, body, code) => {
    const { vault, store } = await place();
    vault.server.incident = () => ({ status, body });
    const error = await failure(store().read());
    expect(error.code).toBe(code);
    expect(error.text).not.toContain('the old token');
  });

  it('is not read as missing in a namespace or an engine that is not there', async () => {
    const { vault, store } = await place({ namespaces: ['team'] });
    vault.put(PATH, { token: 'the old token' }, 'team');
    const login = { token: new Secret(vault.token(policies, { namespace: 'team' })) };
    expect((await store({ namespace: 'team', login }).read())?.reveal()).toBe('the old token');
    await expect(store({ namespace: 'maet', login }).read()).rejects.toMatchObject({
      code: 'target_misbehaved',
    });
    // Of another namespace.
    await expect(store({ login }).read()).rejects.toMatchObject({ code: 'permission_refused' });
    vault.tokens.set('root', { policies: [{ path: '*', capabilities: ['read'] }], namespace: '' });
    const wrong = store({ mount: 'kv', login: { token: new Secret('root') } });
    await expect(wrong.read()).rejects.toMatchObject({ code: 'target_misbehaved' });
  });

  it('says which permission is missing, also when its token ends in the middle', async () => {
    const { vault, store } = await place();
    vault.put(PATH, { token: 'the old token' });
    const read = vault.token([{ path: 'secret/data/ci/awx', capabilities: ['read'] }]);
    const once = vault.token(policies, { uses: 1 });
    for (const token of [read, once]) {
      const at = store({ login: { token: new Secret(token) } });
      await expect(at.write(fresh, old)).rejects.toMatchObject({
        code: 'permission_refused',
        hint: "Grant read, create and update on secret/data/ci/awx, or check this store's credential.",
      });
    }
    expect(JSON.parse(vault.stored(PATH)?.data ?? '')).toEqual({ token: 'the old token' });
    // A token of its own is neither renewed nor revoked.
    expect(vault.tokens.has(read)).toBe(true);
  });

  it('logs in by an AppRole for each use, and revokes the token that it got', async () => {
    const { vault, store } = await place({ namespaces: ['team'] });
    const secretIds = new Map([
      ['right', 2],
      ['used up', 0],
    ]);
    vault.appRoles.set('deploy', { namespace: 'team', policies, secretIds });
    const at = store({ namespace: 'team', login: appRole('right') });
    await at.write(old, null);
    expect((await at.read())?.reveal()).toBe('the old token');
    expect(vault.tokens.size).toBe(1);
    for (const wrong of ['wrong', 'used up']) {
      const error = await failure(store({ namespace: 'team', login: appRole(wrong) }).read());
      expect(error.code).toBe('credentials_refused');
      expect(error.text).not.toContain(wrong);
    }
    await expect(store({ login: appRole('right') }).read()).rejects.toMatchObject({
      code: 'credentials_refused',
    });
  });

  it('logs in with the service account of a pod, which is read again for each use', async () => {
    const { vault, store } = await place();
    vault.kubernetesRoles.set('deploy', { namespace: '', policies, jwts: new Set(['second']) });
    let jwt = 'first';
    const credentials = () => ({ role: 'deploy', jwt });
    const at = store({ login: { mount: 'kubernetes', credentials } });
    await expect(at.read()).rejects.toMatchObject({ code: 'permission_refused' });
    jwt = 'second';
    await at.write(old, null);
    expect(vault.stored(PATH)?.version).toBe(1);
    const kubernetes = { role: 'deploy', jwt: { file: '/no/such/token' } };
    const url = vault.server.url.href;
    const stores = storesSchema.parse({ ci: { kind: 'vault', url, path: PATH, login: { kubernetes } } });
    const configuration = loadConfiguration({}, {}, []);
    const opened = await openStore('ci', { configuration, stores, consumer: 'deploy', environment: {} });
    await expect(opened.read()).rejects.toMatchObject({
      code: 'configuration',
      message: expect.stringContaining('/no/such/token cannot be read (ENOENT)'),
    });
  });

  it('sends its token to no other place', async () => {
    const { vault, store } = await place();
    const other = await vaultServer({});
    vault.activeNode = other.server.url;
    await expect(store().read()).rejects.toMatchObject({ code: 'target_misbehaved' });
    expect(other.server.asked).toEqual([]);
    expect(() => store({ url: new URL('http://vault.example.com') })).toThrow('must start with https://');
  });

  it('is read over TLS only from a server that its authority has signed', async () => {
    const ca = ownCa();
    const { cert, key } = ca.issue('vault');
    const { vault, store } = await place({ tls: { cert, key } });
    await store({ ca: ca.cert }).write(old, null);
    expect(vault.stored(PATH)?.version).toBe(1);
    await expect(store().read()).rejects.toMatchObject({ code: 'target_unreachable' });
  });
});
