import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  accessByKubeconfig,
  accessInCluster,
  type ClusterAccess,
} from '../../../src/stores/cluster-access.ts';
import { kubernetesStore } from '../../../src/stores/kubernetes-store.ts';
import { kubernetesServer, type Rule } from '../../support/kubernetes-server.ts';
import { ownCa } from '../../support/own-ca.ts';

const [old, fresh] = [new Secret('the old token'), new Secret('the new token')];
const CALLED = 'The store ci';
const AT = 'ci/awx';
const all: Rule = { namespace: 'ci', verbs: ['get', 'create', 'patch'] };

async function place(rules: readonly Rule[] = [all]) {
  const ca = ownCa();
  const cluster = await kubernetesServer({ ca });
  cluster.tokens.set('secret-of-deploy', 'deploy');
  cluster.rules.set('deploy', [...rules]);
  const access: ClusterAccess = {
    ...{ url: cluster.server.url, ca: ca.cert },
    authorization: new Secret('Bearer secret-of-deploy'),
  };
  const store = (changed: { key?: string; namespace?: string; access?: () => Promise<ClusterAccess> } = {}) =>
    kubernetesStore(
      { namespace: 'ci', secret: 'awx', key: 'token', access: () => Promise.resolve(access), ...changed },
      CALLED,
    );
  return { ca, cluster, access, store };
}

describe('a key in a Secret of Kubernetes', () => {
  it('is created, applied and read back, and leaves all else as it is', async () => {
    const { cluster, store } = await place();
    const at = store();
    expect(await at.read()).toBeNull();
    await at.write(old, null);
    expect((await at.read())?.reveal()).toBe('the old token');
    cluster.put(AT, { token: 'the old token', other: 'kept' });
    await at.write(fresh, old);
    expect(cluster.stored(AT)).toEqual({ token: 'the new token', other: 'kept' });
    expect(cluster.owners(AT, 'other')).toEqual(['kubectl-edit']);
    cluster.put(AT, { other: 'kept' });
    await at.write(fresh, null);
    expect(cluster.stored(AT)).toEqual({ token: 'the new token', other: 'kept' });
  });

  it('stays where another consumer has its key in the same Secret', async () => {
    const { cluster, store } = await place();
    const [one, other] = [store({ key: 'one' }), store({ key: 'other' })];
    await one.write(old, null);
    await other.write(old, null);
    await one.write(fresh, old);
    await other.write(fresh, old);
    expect(cluster.stored(AT)).toEqual({ one: 'the new token', other: 'the new token' });
    const long = store({ key: 'k'.repeat(253) });
    await long.write(old, null);
    expect((await long.read())?.reveal()).toBe('the old token');
    expect(Object.keys(cluster.stored(AT) ?? {}).length).toBe(3);
  });

  it('is not written over what someone else wrote, and keeps another key that was written in between', async () => {
    const { cluster, store } = await place();
    const at = store();
    cluster.put(AT, { token: 'of someone else' });
    for (const over of [old, null]) {
      await expect(at.write(fresh, over)).rejects.toMatchObject({ code: 'store_changed' });
    }
    let meanwhile = () => cluster.put(AT, { token: 'the old token', other: 'new' });
    let times = 1;
    cluster.server.incident = ({ method }) => {
      if (method !== 'GET' && times > 0) {
        times -= 1;
        meanwhile();
      }
      return undefined;
    };
    cluster.put(AT, { token: 'the old token' });
    await at.write(fresh, old);
    expect(cluster.stored(AT)).toEqual({ token: 'the new token', other: 'new' });
    for (const change of [
      () => cluster.put(AT, { token: 'of someone else' }),
      () => cluster.delete(AT),
      () => {
        cluster.delete(AT);
        cluster.put(AT, { token: 'of someone else' });
      },
    ]) {
      cluster.put(AT, { token: 'the old token' });
      [meanwhile, times] = [change, 1];
      await expect(at.write(fresh, old)).rejects.toMatchObject({ code: 'store_changed' });
      expect(cluster.stored(AT)?.['token']).not.toBe('the new token');
    }
    // Created by someone else at the same moment.
    cluster.delete(AT);
    [meanwhile, times] = [() => cluster.put(AT, { other: 'theirs' }), 1];
    await at.write(fresh, null);
    expect(cluster.stored(AT)).toEqual({ token: 'the new token', other: 'theirs' });
  });

  it('is not known to be written after a cut connection, and reading tells', async () => {
    const { cluster, store } = await place();
    const at = store();
    for (const [cut, value] of [
      ['cut before', 'the old token'],
      ['cut after', 'the new token'],
      ['cut within', 'the new token'],
    ] as const) {
      cluster.put(AT, { token: 'the old token' });
      cluster.server.incident = ({ method }) => (method === 'PATCH' ? cut : undefined);
      await expect(at.write(fresh, old)).rejects.toMatchObject({ code: 'target_unreachable' });
      expect((await at.read())?.reveal()).toBe(value);
    }
    await cluster.server.stop();
    await expect(at.read()).rejects.toMatchObject({ code: 'target_unreachable' });
  });

  it('says which permission is missing', async () => {
    const { cluster, store } = await place([{ ...all, verbs: ['get'], names: ['awx'] }]);
    const hint =
      "Grant get, create and patch on the secret awx in the namespace ci, or check this store's credential.";
    const refused = { code: 'permission_refused', hint };
    await expect(store().write(old, null)).rejects.toMatchObject(refused);
    cluster.put(AT, { token: 'the old token' });
    await expect(store().write(fresh, old)).rejects.toMatchObject(refused);
    expect(cluster.stored(AT)).toEqual({ token: 'the old token' });
    await expect(store({ namespace: 'none' }).read()).rejects.toMatchObject({ code: 'permission_refused' });
    cluster.rules.set('deploy', [all, { ...all, namespace: 'none' }]);
    await expect(store({ namespace: 'none' }).write(old, null)).rejects.toMatchObject({
      code: 'target_misbehaved',
    });
    // Its token ends in the middle.
    cluster.server.incident = ({ method }) => {
      if (method === 'PATCH') cluster.tokens.clear();
      return undefined;
    };
    await expect(store().write(fresh, old)).rejects.toMatchObject({ code: 'credentials_refused' });
  });

  it('is not read as missing at an address that is not a cluster, nor written where it is immutable', async () => {
    const { cluster, access, store } = await place();
    const url = new URL('k8s/clusters/c-1/', access.url);
    const elsewhere = store({ access: () => Promise.resolve({ ...access, url }) });
    await expect(elsewhere.read()).rejects.toMatchObject({ code: 'target_misbehaved' });
    cluster.put(AT, { token: 'the old token' }, { immutable: true });
    await expect(store().write(fresh, old)).rejects.toMatchObject({ code: 'target_misbehaved' });
    cluster.server.incident = () => ({ status: 307, headers: { location: 'https://127.0.0.1:1/' } });
    await expect(store().read()).rejects.toMatchObject({ code: 'target_misbehaved' });
    await expect(
      store({ access: () => Promise.resolve({ ...access, url: new URL('http://k8s.example.com') }) }).read(),
    ).rejects.toMatchObject({ code: 'configuration', message: expect.stringContaining('https://') });
    const { ca: _ca, ...untrusting } = access;
    await expect(store({ access: () => Promise.resolve(untrusting) }).read()).rejects.toMatchObject({
      code: 'target_unreachable',
    });
  });
});

describe('the way to a cluster', () => {
  async function way() {
    const at = await place();
    const folder = mkdtempSync(join(tmpdir(), 'tokenctl-kube-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'config');
    /** JSON is YAML. */
    const by = (user: object, cluster: object = {}) => {
      const server = at.cluster.server.url.href;
      const authority = { 'certificate-authority-data': Buffer.from(at.ca.cert).toString('base64') };
      writeFileSync(
        file,
        JSON.stringify({
          ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'here' },
          contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
          clusters: [{ name: 'c', cluster: { server, ...authority, ...cluster } }],
          users: [{ name: 'u', user }],
        }),
      );
      return accessByKubeconfig(file, { name: CALLED, environment: process.env });
    };
    const read = (access: () => Promise<ClusterAccess>) => at.store({ access }).read();
    at.cluster.put(AT, { token: 'the old token' });
    const program = (text: string) => {
      writeFileSync(join(folder, 'plugin'), `#!/bin/sh\n${text}\n`);
      chmodSync(join(folder, 'plugin'), 0o700);
      return { apiVersion: 'client.authentication.k8s.io/v1', command: './plugin', args: null, env: null };
    };
    return { ...at, folder, by, read, program };
  }

  it('is read from a kubeconfig: a token, a file of it, a certificate or a program', async () => {
    const { ca, cluster, folder, by, read, program } = await way();
    writeFileSync(join(folder, 'token'), 'secret-of-deploy\n');
    const { cert, key, certFile, keyFile } = ca.issue('client', '/O=ops/CN=deploy');
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const gives = (status: object) => `echo '${JSON.stringify({ kind: 'ExecCredential', status })}'`;
    const plugin = program(
      `[ -n "$KUBERNETES_EXEC_INFO" ] && [ "$1$FOR" = loginawx ] && ${gives({ token: 'secret-of-deploy' })}`,
    );
    const more = { args: ['login'], env: [{ name: 'FOR', value: 'awx' }] };
    for (const user of [
      { token: 'secret-of-deploy' },
      { tokenFile: 'token' },
      { 'client-certificate': certFile, 'client-key': keyFile },
      { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) },
      { exec: { ...plugin, ...more } },
    ]) {
      expect((await read(() => by(user)))?.reveal(), JSON.stringify(Object.keys(user))).toBe('the old token');
    }
    const unset = program(gives({ token: 'secret-of-deploy' }));
    expect((await read(() => by({ exec: unset })))?.reveal()).toBe('the old token');
    const certificate = program(
      gives({
        clientCertificateData: cert.replaceAll('\n', '\\n'),
        clientKeyData: key.replaceAll('\n', '\\n'),
      })
        .replaceAll('\\\\n', '\\n')
        .replace('echo', "printf '%s'"),
    );
    expect((await read(() => by({ exec: certificate })))?.reveal()).toBe('the old token');
    // The certificate of someone else's authority is not valid.
    const stranger = ownCa().issue('stranger', '/CN=deploy');
    const foreign = { 'client-certificate': stranger.certFile, 'client-key': stranger.keyFile };
    await expect(read(() => by(foreign))).rejects.toMatchObject({ code: 'credentials_refused' });
    cluster.tokens.clear();
    await expect(read(() => by({ token: 'secret-of-deploy' }))).rejects.toMatchObject({
      code: 'credentials_refused',
    });
  });

  it('quotes nothing of a program or a token that is no good', async () => {
    const { by, read, program } = await way();
    for (const [user, code] of [
      [{ exec: program('echo the-secret and garbage; echo the-secret >&2') }, 'credentials_refused'],
      [{ exec: program('echo the-secret >&2; exit 3') }, 'credentials_refused'],
      [{ exec: program(`echo '{"status": {"tokens": "the-secret"}}'`) }, 'credentials_refused'],
      [{ exec: { ...program(''), command: '/no/such/program' } }, 'credentials_refused'],
      [{ token: 'the-secret\nof two lines' }, 'configuration'],
      [{ 'client-certificate-data': 'dGhlLXNlY3JldA==' }, 'configuration'],
      [{ username: 'deploy', password: 'the-secret' }, 'configuration'],
    ] as const) {
      const error = (await read(() => by(user)).then(
        () => ({}),
        (caught: Error) => caught,
      )) as Error;
      expect([error, JSON.stringify(user)]).toEqual([
        expect.objectContaining({ code }),
        JSON.stringify(user),
      ]);
      expect(`${error.message} ${JSON.stringify(error)}`).not.toContain('the-secret');
    }
  });

  it('refuses a kubeconfig that verifies no server, has no address or is of another cluster', async () => {
    const { by } = await way();
    const user = { token: 'secret-of-deploy' };
    for (const cluster of [{ 'insecure-skip-tls-verify': true }, { server: null }, { server: 'x' }]) {
      await expect(by(user, cluster)).rejects.toMatchObject({ code: 'configuration' });
    }
  });

  it('is read from the files of a pod, again for each use', async () => {
    const { ca, cluster, folder, read } = await way();
    const { hostname, port } = cluster.server.url;
    const environment = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
    writeFileSync(join(folder, 'ca.crt'), ca.cert);
    const inPod = () => Promise.resolve().then(() => accessInCluster(CALLED, environment, folder));
    await expect(read(inPod)).rejects.toMatchObject({ code: 'configuration' });
    writeFileSync(join(folder, 'token'), 'expired');
    await expect(read(inPod)).rejects.toMatchObject({ code: 'credentials_refused' });
    writeFileSync(join(folder, 'token'), 'secret-of-deploy\n');
    expect((await read(inPod))?.reveal()).toBe('the old token');
    expect(() => accessInCluster(CALLED, {})).toThrow('not a pod');
  });
});
