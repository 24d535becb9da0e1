import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { jobKinds } from '../../../src/app/jobs/job-kinds.ts';
import { loadConfiguration, type SettingFlags } from '../../../src/config/configuration.ts';
import { contextOf } from '../../../src/config/contexts.ts';
import { databaseConnection } from '../../../src/config/secrets.ts';

/** Loads the configuration with this text as its file. */
function load(text: string, options: { env?: Record<string, string>; flags?: SettingFlags } = {}) {
  const home = mkdtempSync(join(tmpdir(), 'tokenctl-config-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const config = join(home, 'tokenctl.yaml');
  writeFileSync(config, text);
  const settings = () =>
    loadConfiguration({ config, ...options.flags }, { HOME: home, ...options.env }, jobKinds);
  return { home, config, settings };
}

/** The error that loading ends with. */
function problem(text: string, options?: Parameters<typeof load>[1]): TokenctlError {
  try {
    load(text, options).settings();
  } catch (error) {
    if (error instanceof TokenctlError) return error;
  }
  throw new Error('it was accepted');
}

const lab = 'currentContext: lab\ncontexts:\n  lab: { url: "https://lab.example", token: { env: T } }\n';

describe('a context of a database', () => {
  test.each([
    'postgres://reader@db.example/awx?sslmode=verify-full',
    'postgresql:///awx?host=/var/run/postgresql',
    'service=awx-reader',
    'postgres://reader@[::1]:5432/awx',
    'host=db.example dbname=awx sslmode=verify-full',
  ])('is named in plain text where that holds no password: %s', (database) => {
    const { settings } = load(`contexts: { db: { database: "${database}" } }`);
    const { contexts } = settings();
    expect(contexts['db']).toEqual({ database });
    expect(databaseConnection(contexts['db']?.database ?? '', {}).reveal()).toBe(database);
  });

  test('has its URL in a file beside the configuration, or in a variable', () => {
    const { home, settings } = load(
      'contexts: { a: { database: { file: db.url } }, b: { database: { env: DB } } }',
    );
    const { contexts } = settings();
    const file = join(home, 'db.url');
    expect(contexts).toEqual({ a: { database: { file } }, b: { database: { env: 'DB' } } });
    writeFileSync(file, 'postgres://u:pa55@h/d\n', { mode: 0o600 });
    expect(databaseConnection({ file }, {}).reveal()).toBe('postgres://u:pa55@h/d');
    expect(databaseConnection({ env: 'DB' }, { DB: 'service=x' }).reveal()).toBe('service=x');
    chmodSync(file, 0o640);
    expect(() => databaseConnection({ file }, {})).toThrow(/Other users can read/);
  });

  test.each([
    [
      'a password in the URL',
      'database: "postgres://u:pa55@h/d"',
      /:1: contexts\.a\.database: must not contain a password.*\.pgpass/,
    ],
    ['a password in its query', 'database: "postgres://u@h/d?password=pa55"', /must not contain a password/],
    ['another scheme', 'database: "mysql://h/pa55"', /must be a postgres:\/\/ URL or service=NAME$/],
    ['a password among keywords', 'database: "service=x password=pa55"', /must not contain a password/],
    ['a password with a slash in it', 'database: "postgres://u:pa55/x@h/d"', /must not contain a password/],
    [
      'a key of no meaning',
      'database: { path: x }',
      /specifies the database: \{ file: PATH \} or \{ env: VARIABLE \}/,
    ],
    [
      'an address beside it',
      'url: "https://x", database: service=x',
      /a: has both a url and a database: remove one$/,
    ],
    [
      'a credential beside it',
      'database: service=x, username: u, verifyTls: false',
      /a\.verifyTls: requires a url.*\n.*a\.username: requires a url|a\.username: requires a url.*\n.*a\.verifyTls: requires a url/,
    ],
    [
      'a mistyped key',
      'databse: service=x',
      /a\.databse: there is no such setting; did you mean "database"\?/,
    ],
  ])('refuses %s, without repeating it', (_name, settings, message) => {
    const error = problem(`contexts: { a: { ${settings} } }`);
    expect(error.code).toBe('configuration');
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain('pa55');
  });
});

describe('TOKENCTL_DATABASE', () => {
  const env = { TOKENCTL_DATABASE: 'postgres://u:pa55@h/d' };

  test('makes the current context, and stays in its variable', () => {
    const settings = load(lab, { env }).settings();
    expect(contextOf(settings)).toEqual({ name: 'environment', database: { env: 'TOKENCTL_DATABASE' } });
    expect(settings.environmentContext).toBe('environment');
    expect(JSON.stringify(settings)).not.toContain('pa55');
  });

  test.each(['CONTROLLER_HOST', 'TOWER_HOST'])('beside %s is one controller too many', (host) => {
    const error = problem(lab, { env: { ...env, [host]: 'https://env.example' } });
    expect(error.code).toBe('configuration');
    expect(error.message).toBe(
      `The environment selects two controllers: ${host} and TOKENCTL_DATABASE are set`,
    );
    expect(error.hint).toMatch(/--context/);
  });

  test('beside CONTROLLER_HOST is well where a flag or variable says what is meant', () => {
    const both = { ...env, CONTROLLER_HOST: 'https://env.example' };
    expect(load(lab, { env: both, flags: { context: 'lab' } }).settings().currentContext).toBe('lab');
    const named = load(lab, { env: { ...both, TOKENCTL_CONTEXT: 'lab' } }).settings();
    expect(Object.keys(named.contexts)).toEqual(['lab']);
    expect(problem(lab, { env: both, flags: { context: 'environment' } }).message).toMatch(/two controllers/);
  });
});

describe('--database-file', () => {
  test('makes a context of its own, current for this run, over all others', () => {
    const env = { CONTROLLER_HOST: 'https://env.example', TOKENCTL_DATABASE: 'service=x' };
    const settings = load(lab, { env, flags: { databaseFile: '/run/db.url' } }).settings();
    expect(contextOf(settings)).toEqual({ name: 'database', database: { file: '/run/db.url' } });
    expect(Object.keys(settings.contexts)).toEqual(['lab', 'database']);
  });

  test('excludes a context that is named', () => {
    const error = problem(lab, { flags: { databaseFile: '/run/db.url', context: 'lab' } });
    expect(error).toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/"lab" and by --database-file/),
    });
  });
});

describe('the audit log', () => {
  test('is in a database where the file says so, and in no file then', () => {
    const settings = load('auditLog: { database: { env: LOG } }').settings();
    expect(settings.auditLog).toEqual({ database: { env: 'LOG' } });
    expect(settings.auditLogNamed).toBe(true);
    expect(load('auditLog: { database: service=log }').settings().auditLog).toEqual({
      database: 'service=log',
    });
  });

  test('the later layer decides between file and database', () => {
    const inFile = 'auditLog: { database: { env: LOG } }';
    const flags = { logFile: '/flag.jsonl' };
    const env = { TOKENCTL_AUDIT_DATABASE: 'postgres://u:pa55@h/log' };
    expect(load(inFile, { env: { TOKENCTL_AUDIT_LOG: '/e' } }).settings().auditLog).toEqual({ file: '/e' });
    expect(load('auditLog: { file: a }', { env }).settings().auditLog).toEqual({
      database: { env: 'TOKENCTL_AUDIT_DATABASE' },
    });
    expect(load(inFile, { env, flags }).settings().auditLog).toEqual({ file: '/flag.jsonl' });
  });

  test.each([
    [
      'a file and a database',
      'auditLog: { file: a, database: service=x }',
      {},
      /:1: auditLog: has both a file and a database/,
    ],
    [
      'two variables',
      '{}',
      { TOKENCTL_AUDIT_LOG: '/a', TOKENCTL_AUDIT_DATABASE: 'service=x' },
      /the environment \(TOKENCTL_AUDIT_LOG, TOKENCTL_AUDIT_DATABASE\): auditLog: has both/,
    ],
    [
      'a password',
      'auditLog: { database: "postgres://u:pa55@h/d" }',
      {},
      /auditLog\.database: must not contain a password/,
    ],
    ['a mistyped key', 'auditLog: { databse: x }', {}, /auditLog\.databse: .*did you mean "database"\?/],
    [
      'a mistyped key under an overruling flag',
      'auditLog: { fil: x }',
      { TOKENCTL_AUDIT_LOG: '/a' },
      /auditLog\.fil: .*"file"/,
    ],
  ])('refuses %s', (_name, text, env, message) => {
    const error = problem(text, { env });
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain('pa55');
  });
});
