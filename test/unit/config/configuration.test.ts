import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { jobKinds } from '../../../src/app/jobs/job-kinds.ts';
import {
  auditLogFile,
  loadConfiguration,
  type SettingFlags,
  withSettings,
  writableFile,
} from '../../../src/config/configuration.ts';

/** Loads the configuration with this text as its file; without one there is no file. */
function load(text?: string, options: { env?: Record<string, string>; flags?: SettingFlags } = {}) {
  const home = mkdtempSync(join(tmpdir(), 'tokenctl-config-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const config = join(home, 'tokenctl.yaml');
  if (text !== undefined) writeFileSync(config, text);
  const flags = { ...(text === undefined ? {} : { config }), ...options.flags };
  return { home, settings: () => loadConfiguration(flags, { HOME: home, ...options.env }, jobKinds) };
}

/** The error that loading, or reading an invalid section, ends with. */
function problem(text: string, env: Record<string, string> = {}): TokenctlError {
  try {
    const { invalid } = load(text, { env }).settings();
    for (const error of invalid.values()) throw error;
  } catch (error) {
    if (error instanceof TokenctlError) return error;
  }
  throw new Error('it was accepted');
}

const file = `
currentContext: lab
contexts:
  lab:
    url: https://lab.example
    token: { file: lab.token }
  live:
    url: https://live.example
    username: admin
    password: { env: LIVE_PASSWORD }
auditLog:
  file: from-file.jsonl
`;

describe('the layers', () => {
  test('without anything there are defaults, in the folders of the XDG specification', () => {
    const { home, settings } = load();
    expect(settings()).toMatchObject({
      contexts: {},
      auditLog: { file: join(home, '.local/state/tokenctl/audit.jsonl') },
      file: join(home, '.config/tokenctl/tokenctl.yaml'),
    });
  });

  test('XDG_STATE_HOME moves the log; a relative one is ignored, as the specification has it', () => {
    expect(load(undefined, { env: { XDG_STATE_HOME: '/state' } }).settings().auditLog.file).toBe(
      '/state/tokenctl/audit.jsonl',
    );
    const { home, settings } = load(undefined, { env: { XDG_STATE_HOME: 'state' } });
    expect(settings().auditLog.file).toBe(join(home, '.local/state/tokenctl/audit.jsonl'));
  });

  test('without HOME, only what needs a folder is refused, with the variables to set', () => {
    const settings = loadConfiguration({}, { CONTROLLER_HOST: 'controller.example.org' }, jobKinds);
    expect(settings).toMatchObject({ file: null, currentContext: 'environment' });
    expect(() => auditLogFile(settings.auditLog)).toThrow(/neither XDG_STATE_HOME nor HOME is set/);
    expect(() => writableFile(settings)).toThrow(/none of TOKENCTL_CONFIG, XDG_CONFIG_HOME and HOME is set/);
    expect(() => loadConfiguration({ config: '~/a.yaml' }, {}, jobKinds)).toThrow(
      /path ~\/a.yaml: HOME is not set/,
    );
    const { auditLog } = loadConfiguration({}, { XDG_STATE_HOME: '/state', HOME: '' }, jobKinds);
    expect(auditLogFile(auditLog)).toBe('/state/tokenctl/audit.jsonl');
  });

  test('a path can start at the folder of the credentials that systemd gives the unit', () => {
    const text =
      'contexts: { lab: { url: "https://lab.example.org", token: { file: $CREDENTIALS_DIRECTORY/lab } } }';
    const { settings } = load(text, { env: { CREDENTIALS_DIRECTORY: '/run/credentials/sweep.service' } });
    expect(settings().contexts['lab']).toMatchObject({
      token: { file: '/run/credentials/sweep.service/lab' },
    });
    const outside = load(text);
    expect(outside.settings().contexts['lab']).toMatchObject({
      token: { file: join(outside.home, 'secrets', 'lab') },
    });
  });

  test('claims that are named like the settings of paths stay as they are', () => {
    const claims = { file: 'deploy.yml', caFile: 'ci/ca.pem', passwordFile: 'x' };
    const broker = {
      audience: 'x',
      issuers: { ci: { url: 'https://ci.example.com', caFile: 'ca.pem' } },
      rules: { one: { issuer: 'ci', claims, context: 'lab' } },
    };
    const { home, settings } = load(
      JSON.stringify({ contexts: { lab: { url: 'https://a.example' } }, broker }),
    );
    const found = settings().broker;
    expect(found?.rules['one']?.claims).toEqual(claims);
    expect(found?.issuers['ci']?.caFile).toBe(join(home, 'ca.pem'));
  });

  test('the file goes over the defaults, its paths from its own folder', () => {
    const { home, settings } = load(file);
    expect(settings().auditLog.file).toBe(join(home, 'from-file.jsonl'));
    expect(settings().contexts['lab']).toMatchObject({ token: { file: join(home, 'lab.token') } });
  });

  test('the client certificate of a session cache is found from the folder of the file', () => {
    const cache = {
      redis: { file: 'redis.url' },
      caFile: 'ca.pem',
      certFile: 'client.pem',
      keyFile: 'client.key',
    };
    const { home, settings } = load(
      JSON.stringify({ contexts: { db: { database: { file: 'db' }, cache } } }),
    );
    expect(settings().contexts['db']).toMatchObject({
      cache: {
        caFile: join(home, 'ca.pem'),
        certFile: join(home, 'client.pem'),
        keyFile: join(home, 'client.key'),
      },
    });
  });

  test('say whether anything names the audit log', () => {
    expect(load().settings().auditLogNamed).toBe(false);
    expect(load('auditLog: {}').settings().auditLogNamed).toBe(false);
    expect(load(file).settings().auditLogNamed).toBe(true);
    expect(load(undefined, { env: { TOKENCTL_AUDIT_LOG: '/l' } }).settings().auditLogNamed).toBe(true);
    expect(load(undefined, { flags: { logFile: '/l' } }).settings().auditLogNamed).toBe(true);
  });

  test('the environment goes over the file, and flags over both', () => {
    const env = { TOKENCTL_AUDIT_LOG: '/env.jsonl', TOKENCTL_CONTEXT: 'live' };
    expect(load(file, { env }).settings()).toMatchObject({
      auditLog: { file: '/env.jsonl' },
      currentContext: 'live',
    });
    const flags = { logFile: '/flag.jsonl', context: 'lab' };
    expect(load(file, { env, flags }).settings()).toMatchObject({
      auditLog: { file: '/flag.jsonl' },
      currentContext: 'lab',
    });
  });

  test('what comes out is frozen, all the way down', () => {
    const settings = load(file).settings();
    const { lab } = settings.contexts;
    expect(Object.isFrozen(lab?.url === undefined ? undefined : lab.token)).toBe(true);
  });
});

describe("the awx CLI's variables", () => {
  test('make the current context, whatever the file chooses', () => {
    const env = { CONTROLLER_HOST: 'https://env.example', CONTROLLER_OAUTH_TOKEN: 's3cr3t' };
    const settings = load(file, { env }).settings();
    expect(settings.currentContext).toBe('environment');
    expect(settings.contexts['environment']).toEqual({
      url: 'https://env.example',
      token: { env: 'CONTROLLER_OAUTH_TOKEN' },
    });
    expect(JSON.stringify(settings)).not.toContain('s3cr3t');
  });

  test('a token goes before a password', () => {
    const env = {
      CONTROLLER_HOST: 'https://env.example',
      CONTROLLER_USERNAME: 'admin',
      CONTROLLER_PASSWORD: 'p',
      TOWER_OAUTH_TOKEN: 't',
    };
    const context = load(undefined, { env }).settings().contexts['environment'];
    expect(context).toEqual({
      url: 'https://env.example',
      username: 'admin',
      token: { env: 'TOWER_OAUTH_TOKEN' },
    });
  });

  test('the variables of ansible.platform count without a host of the awx CLI, and never mix with its variables', () => {
    const platform = { AAP_HOSTNAME: 'gateway.example', AAP_TOKEN: 't', AAP_VALIDATE_CERTS: 'no' };
    const contextOf = (env: Record<string, string>) =>
      load(undefined, { env: { ...platform, ...env } }).settings().contexts['environment'];
    expect(contextOf({ CONTROLLER_OAUTH_TOKEN: 'other', CONTROLLER_USERNAME: 'other' })).toEqual({
      url: 'https://gateway.example',
      token: { env: 'AAP_TOKEN' },
      verifyTls: false,
      insecure: true,
    });
    expect(contextOf({ CONTROLLER_HOST: 'awx.example' })).toEqual({ url: 'https://awx.example' });
  });

  test('CONTROLLER_ goes before TOWER_, and an empty variable counts as none', () => {
    const env = {
      CONTROLLER_HOST: '',
      TOWER_HOST: 'https://tower.example',
      TOWER_USERNAME: 'old',
      CONTROLLER_USERNAME: 'new',
    };
    expect(load(undefined, { env }).settings().contexts['environment']).toMatchObject({
      url: 'https://tower.example',
      username: 'new',
    });
  });

  test('a host without a scheme is reached over https', () => {
    const context = load(undefined, { env: { CONTROLLER_HOST: 'env.example:8043' } }).settings().contexts;
    expect(context['environment']?.url).toBe('https://env.example:8043');
  });

  test.each([
    ['false', false],
    ['False', false],
    ['no', false],
    ['0', false],
    ['true', true],
    ['1', true],
  ])('CONTROLLER_VERIFY_SSL=%s', (value, verify) => {
    const env = { CONTROLLER_HOST: 'https://env.example', CONTROLLER_VERIFY_SSL: value };
    expect(load(undefined, { env }).settings().contexts['environment']).toMatchObject({ verifyTls: verify });
  });

  test('a credential from the environment never joins an address from the file', () => {
    const env = { CONTROLLER_OAUTH_TOKEN: 't', TOKENCTL_CONTEXT: 'lab' };
    expect(load(file, { env }).settings().contexts['lab']).toMatchObject({
      token: { file: expect.stringMatching(/lab\.token$/) },
    });
  });

  test('TOKENCTL_CONTEXT goes before CONTROLLER_HOST', () => {
    const env = { CONTROLLER_HOST: 'https://env.example', TOKENCTL_CONTEXT: 'lab' };
    expect(load(file, { env }).settings().currentContext).toBe('lab');
  });
});

describe('what is refused', () => {
  test('an unknown setting, with its line and the nearest known one', () => {
    const error = problem('contexts:\n  lab:\n    url: https://lab.example\n    usernam: admin\n');
    expect(error.code).toBe('configuration');
    expect(error.message).toMatch(
      /tokenctl\.yaml:4: contexts\.lab\.usernam: there is no such setting; did you mean "username"\?$/,
    );
  });

  test('an unknown section', () => {
    expect(problem('auditlog:\n  file: x\n').message).toMatch(/:1: auditlog: .*did you mean "auditLog"/);
  });

  test('an unknown rule, and an unknown key of a rule', () => {
    expect(problem('policy:\n  unused-fo:\n    days: 3\n').message).toMatch(
      /:2: policy\.unused-fo: .*"unused-for"/,
    );
    expect(problem('policy:\n  unused-for:\n    day: 3\n').message).toMatch(
      /:3: policy\.unused-for\.day: .*"days"/,
    );
  });

  test('several problems are told at once', () => {
    const { details } = problem(
      'contexts:\n  a: { url: ftp://x }\n  b: { url: https://b, verifyTls: maybe }\n',
    );
    expect(details?.['problems']).toHaveLength(2);
  });

  test.each([
    ['a secret in the URL', 'contexts: { a: { url: "https://u:p@x.example" } }', /user name or password/],
    [
      'a secret in the file',
      'contexts: { a: { url: "https://x", token: abcdef } }',
      /specifies where the secret is/,
    ],
    [
      'two credentials',
      'contexts: { a: { url: "https://x", username: u, token: {env: T}, password: {env: P} } }',
      /remove one/,
    ],
    [
      'a password without a user name',
      'contexts: { a: { url: "https://x", password: {env: P} } }',
      /no username/,
    ],
    ['a name that is a path', 'contexts: { "../a": { url: "https://x" } }', /not a valid context name/],
    ['the reserved name', 'contexts: { environment: { url: "https://x" } }', /CONTROLLER_HOST/],
    ['a list', '- a\n- b\n', /mapping/],
    ['a number for a section', 'contexts: 5\n', /:1: contexts: must be a mapping$/],
    ['a section without anything in it', 'policy:\n', /:1: policy: must be a mapping, but is empty/],
    ['a number for a URL', 'contexts: { a: { url: 5 } }', /contexts\.a\.url: must be text$/],
    ['a context without an address', 'contexts: { a: {} }', /contexts\.a: has neither a url nor a database$/],
    [
      'a word for a switch',
      'contexts: { a: { url: "https://x", verifyTls: maybe } }',
      /verifyTls: must be true or false$/,
    ],
    [
      'an unknown severity',
      'policy: { write-scope: { severity: huge } }',
      /severity: must be one of: low, medium, high, critical$/,
    ],
    ['an invalid port', 'contexts: { a: { url: "http://h:99999" } }', /its port is invalid/],
    ['an invalid host name', 'contexts: { a: { url: "http://a b/" } }', /its host name is invalid/],
    ['broken YAML', 'contexts: {\n', /tokenctl\.yaml:\d+: invalid YAML/],
    [
      'an alias bomb',
      `a: &a [x, x, x, x, x, x, x, x, x, x]\n${'bcdefghi'.replace(/./g, (name, at: number) => `${name}: &${name} [${Array.from({ length: 10 }, () => `*${'abcdefgh'[at]}`).join(', ')}]\n`)}`,
      /tokenctl\.yaml: too many aliases/,
    ],
    ['an alias within its anchor', 'a: &a {b: *a}\n', /tokenctl\.yaml: the values are nested too deep/],
    ['an alias within a list', 'contexts: &a [1, *a]\n', /tokenctl\.yaml: the values are nested too deep/],
    ['an unknown alias', 'contexts: *none\n', /tokenctl\.yaml(:1)?: .*alias/],
    ['deep nesting', '['.repeat(20_000), /tokenctl\.yaml: the values are nested too deep/],
    [
      'a repeated key',
      'contexts: {}\npolicy: {}\ncontexts: {}\n',
      /tokenctl\.yaml:3: invalid YAML: Map keys must be unique/,
    ],
  ])('%s', (_name, text, message) => {
    expect(problem(text).message).toMatch(message);
  });

  test('a wrong variable is named', () => {
    expect(problem(file, { CONTROLLER_HOST: 'ftp://x' }).message).toMatch(/CONTROLLER_HOST.*https:\/\//);
  });

  test('a file that was named and is not there', () => {
    expect(() => load(undefined, { flags: { config: '/nowhere/t.yaml' } }).settings()).toThrow(
      /\/nowhere\/t\.yaml does not exist/,
    );
  });
});

describe('a mistake in a section that a lockdown does not need', () => {
  const job = 'jobs:\n  sign: { job: log-checkpoint }\n';

  test('stops what uses it, with its line, and nothing else', () => {
    const settings = load(`${file}${job}`).settings();
    expect(settings.contexts).toHaveProperty('lab');
    expect(() => settings.jobs).toThrow(/tokenctl\.yaml:14: jobs\.sign\./);
    expect(settings.policy).toEqual({});
  });

  test('stays where other settings are replaced', () => {
    const settings = withSettings(load(`${file}${job}`).settings(), { currentContext: 'live' });
    expect(settings.currentContext).toBe('live');
    expect(() => settings.jobs).toThrow(/jobs\.sign\./);
  });

  test('is told together with one that stops every command', () => {
    const { message } = problem(`${file}${job}groups: { all: [nowhere] }\napproval: { approver: {} }\n`);
    expect(message).toMatch(/approval\.approver/);
    expect(message).toMatch(/jobs\.sign/);
  });
});
