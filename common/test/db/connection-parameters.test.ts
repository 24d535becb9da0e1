import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readConnection } from '../../src/db/connection-parameters.ts';
import { Secret } from '../../src/secret.ts';

const read = (text: string, environment: Record<string, string> = { HOME: '/nowhere' }) =>
  readConnection(new Secret(text), environment);

const homes: string[] = [];
afterAll(() => {
  for (const folder of homes) rmSync(folder, { recursive: true });
});

/** A home folder with files of the given modes. */
function home(files: Readonly<Record<string, readonly [content: string, mode?: number]>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-home-'));
  homes.push(folder);
  for (const [name, [content, mode = 0o600]] of Object.entries(files)) {
    writeFileSync(join(folder, name), content);
    chmodSync(join(folder, name), mode);
  }
  return folder;
}

describe('a connection', () => {
  it.each([
    ['postgresql://al%40ice:p%3Aw%2F@db.example:6432/aw%20x', ['al@ice', 'p:w/', 'db.example', 6432, 'aw x']],
    ['postgres://alice@[::1]/awx', ['alice', undefined, '::1', 5432, 'awx']],
    ['postgresql://alice@%2Frun%2Fpg/awx', ['alice', undefined, '/run/pg', 5432, 'awx']],
    ['postgresql:///awx?host=/run/pg&user=alice&port=5433', ['alice', undefined, '/run/pg', 5433, 'awx']],
    ['postgresql://alice:@db.example', ['alice', undefined, 'db.example', 5432, 'alice']],
    [
      "host=db.example user = 'al ice' password='it\\'s \\\\' dbname=awx",
      ['al ice', "it's \\", 'db.example', 5432, 'awx'],
    ],
    ['  user=alice host=db.example port=5433', ['alice', undefined, 'db.example', 5433, 'alice']],
  ])('is read from %s', (text, expected) => {
    const { user, password, host, port, database } = read(text);
    expect([user, password?.reveal(), host, port, database]).toEqual(expected);
  });

  it.each([
    'postgresql://a:secret@b@db.example/awx',
    'postgresql://alice:secret%zz@db.example/awx',
    'postgresql://db1.example,db2.example/awx?password=secret',
    'postgresql://alice:secret@db.example:99999/awx',
    'postgresql://alice:secret@db.example/awx?sslmode=maybe',
    'postgresql://alice:secret@db.example/awx?sslmod=require',
    'postgresql://alice:secret@db.example/awx?channel_binding=maybe',
    'postgresql://alice:secret@db.example/awx?sslrootcert=system&sslmode=prefer',
    'postgresql://alice:secret@db.example/awx?sslrootcert=system&sslmode=verify-ca',
    'postgresql://alice:secret@db.example/awx?sslcert=/nowhere/own.crt',
    'postgresql://alice:secret@db.example/awx?sslcertmode=require',
    'postgresql://alice:12/secret@db.example/awx',
    'postgresql://alice:12?secret=@db.example/awx',
    'postgresql://alice:pass@db.example/awx?secret=x',
    'host=db.example password=my secret=x',
    'host=db.example password=secret =x',
    "host=db.example password='secret",
    'awx',
    '',
  ])('is refused without repeating it: %s', (text) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code: 'configuration' }));
    expect(() => read(text)).not.toThrow(/secret/);
  });

  it.each(['PGREQUIREAUTH', 'PGSSLCERTMODE', 'PGSSLNEGOTIATION', 'PGTARGETSESSIONATTRS'])(
    'is refused where %s asks for more than is to be had',
    (variable) => {
      const connect = () => read('host=db.example', { HOME: '/nowhere', [variable]: 'require' });
      expect(connect).toThrow(expect.objectContaining({ code: 'configuration' }));
      expect(connect).toThrow(variable);
      expect(read('host=db.example', { HOME: '/nowhere', PGCHANNELBINDING: 'prefer' }).host).toBe(
        'db.example',
      );
    },
  );

  it('verifies fully by the authorities of the system, unless a weaker mode is asked for', () => {
    const { tls } = read('postgresql://db.example/awx?sslrootcert=system');
    expect(tls).toMatchObject({ mode: 'verify-full', rootCertificate: 'system' });
  });

  it.each([
    ['postgresql://db1.example,db2.example/awx', {}],
    ['postgresql://db1.example:5432,db2.example:5433/awx', {}],
    ['postgresql:///awx?host=db1.example,db2.example', {}],
    ['host=db1.example,db2.example dbname=awx', {}],
    ['hostaddr=10.0.0.1,10.0.0.2 dbname=awx', {}],
    ['host=db1.example port=5432,5433 dbname=awx', {}],
    ['dbname=awx', { PGHOST: 'db1.example,db2.example' }],
    ['postgresql://db1.example/awx?target_session_attrs=read-write', {}],
    ['host=db1.example', { PGTARGETSESSIONATTRS: 'primary' }],
  ])('asks for one server instead of a choice among several: %s %o', (text, variables) => {
    expect(() => read(text, { HOME: '/nowhere', ...variables })).toThrow(
      expect.objectContaining({
        code: 'configuration',
        hint: expect.stringContaining('Specify one server: the primary for changes, or a standby'),
      }),
    );
  });

  it('takes from variables what the text leaves out, and from the service before them', () => {
    const HOME = home({
      '.pg_service.conf': [
        '# ours\n[other]\nhost=wrong\n\n[awx]\nhost=db.example\nport = 6432\nuser=of_service\npassword=s=1\nuser=twice\n[last]\nhost=wrong\n',
      ],
    });
    const environment = {
      HOME,
      PGHOST: 'of.environment',
      PGUSER: 'of_environment',
      PGDATABASE: 'awx',
      PGSSLMODE: 'disable',
    };
    expect(read('service=awx', environment)).toMatchObject({
      host: 'db.example',
      port: 6432,
      user: 'of_service',
      database: 'awx',
      tls: { mode: 'disable' },
    });
    expect(read('service=awx', environment).password?.reveal()).toBe('s=1');
    expect(read('service=awx user=alice', environment).user).toBe('alice');
    expect(read('postgresql://?service=awx', environment).host).toBe('db.example');
    expect(read('dbname=x', { ...environment, PGSERVICE: 'awx' })).toMatchObject({
      host: 'db.example',
      database: 'x',
    });
    expect(read('dbname=x', environment)).toMatchObject({ host: 'of.environment', user: 'of_environment' });
  });

  it('finds services in the files that variables name, and says where there is none', () => {
    const folder = home({
      'own.conf': ['[mine]\nhost=own.example\n'],
      'pg_service.conf': ['[all]\nhost=all.example\n'],
    });
    const environment = { HOME: '/nowhere', PGSERVICEFILE: join(folder, 'own.conf'), PGSYSCONFDIR: folder };
    expect(read('service=mine', environment).host).toBe('own.example');
    expect(read('service=all', environment).host).toBe('all.example');
    expect(() => read('service=gone', environment)).toThrow(
      expect.objectContaining({ code: 'configuration', hint: expect.stringContaining('own.conf') }),
    );
    const odd = home({ '.pg_service.conf': ['[mine]\nhost\n'] });
    expect(() => read('service=mine', { HOME: odd })).toThrow(/Line 2 of/);
  });

  it('finds the password in a file of the owner’s alone', () => {
    const lines =
      '# ours\nother:*:*:*:wrong\ndb.example:6432:awx:al\\:ice:p\\:w:d\n*:*:*:bob:of-bob\nlocalhost:*:*:carol:by-socket\n';
    const HOME = home({ '.pgpass': [lines] });
    const password = (text: string, more = {}) => read(text, { HOME, ...more }).password?.reveal();
    expect(password('postgresql://al%3Aice@db.example:6432/awx')).toBe('p:w:d');
    expect(password('postgresql://al%3Aice@db.example:6433/awx')).toBeUndefined();
    expect(password('postgresql://bob@anywhere/any')).toBe('of-bob');
    expect(password('postgresql://carol@%2Frun%2Fpg/any')).toBe('by-socket');
    expect(password('postgresql://bob:given@anywhere/any')).toBe('given');
    expect(password('postgresql://bob@anywhere/any', { PGPASSWORD: 'of-environment' })).toBe(
      'of-environment',
    );
    const elsewhere = home({ pass: ['*:*:*:*:elsewhere\n'] });
    expect(password('postgresql://bob@anywhere/any', { PGPASSFILE: join(elsewhere, 'pass') })).toBe(
      'elsewhere',
    );
    const open = home({ '.pgpass': [lines, 0o644] });
    expect(password('postgresql://bob@anywhere/any', { HOME: open })).toBeUndefined();
  });

  it('needs no home folder', () => {
    expect(read('postgresql://bob@db.example/awx', {})).toMatchObject({ user: 'bob', password: undefined });
    expect(() => read('service=mine', { PGSYSCONFDIR: '/nowhere' })).toThrow(
      expect.objectContaining({ hint: 'Define it in /nowhere/pg_service.conf.' }),
    );
  });
});
