import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { readSecret, storeSecret } from '../../../src/config/secrets.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tokenctl-secrets-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

function secretFile(content: string | Buffer, mode = 0o600): string {
  const path = join(folder, 'secret');
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

describe('a secret in a file', () => {
  test.each(['s3cr3t', 's3cr3t\n', 's3cr3t\r\n'])('%j is read without its line feed', (content) => {
    expect(readSecret({ file: secretFile(content) }, {}).reveal()).toBe('s3cr3t');
  });

  test('a byte order mark is not part of it', () => {
    expect(readSecret({ file: secretFile('\ufeffs3cr3t\n') }, {}).reveal()).toBe('s3cr3t');
  });

  test.each([
    ['UTF-16 with a byte order mark', Buffer.from('\ufeffs3cr3t\n', 'utf16le')],
    ['UTF-16 in the other order', Buffer.from('\ufeffs3cr3t\n', 'utf16le').swap16()],
    ['UTF-16 without one', Buffer.from('s3cr3t\n', 'utf16le')],
    ['Latin-1', Buffer.from('gehe\u00efm\n', 'latin1')],
  ])('%s is refused by what it is', (_encoding, content) => {
    expect(() => readSecret({ file: secretFile(content) }, {})).toThrow(/is (UTF-16|not UTF-8)/);
  });

  test.each([0o640, 0o604, 0o644, 0o660, 0o610])('mode %o is refused, with the way to mend it', (mode) => {
    const file = secretFile('s3cr3t', mode);
    expect(() => readSecret({ file }, {})).toThrow(
      expect.objectContaining({
        code: 'configuration',
        hint: expect.stringContaining(`chmod 600 '${file}'`),
      }),
    );
  });

  test('a credential of systemd may be readable by its group, if root owns it', () => {
    const isRoot = process.getuid?.() === 0;
    const file = secretFile('s3cr3t', 0o440);
    const environment = { CREDENTIALS_DIRECTORY: folder };
    const read = (env: Record<string, string>) => readSecret({ file }, env).reveal();
    if (isRoot) expect(read(environment)).toBe('s3cr3t');
    else expect(() => read(environment)).toThrow(/Other users can read/);
    expect(() => read({})).toThrow(/Other users can read/);
    expect(() => read({ CREDENTIALS_DIRECTORY: join(folder, '..') })).toThrow(/Other users can read/);
    for (const mode of [0o444, 0o460, 0o450]) {
      chmodSync(file, mode);
      expect(() => read(environment)).toThrow(/Other users can read/);
    }
    chmodSync(file, 0o440);
    if (isRoot) chownSync(file, 1000, 1000);
    expect(() => read(environment)).toThrow(/Other users can read/);
  });

  test.each([
    ['', /is empty/],
    ['\n', /is empty/],
    ['one\ntwo\n', /several lines/],
  ])('%j is refused', (content, message) => {
    expect(() => readSecret({ file: secretFile(content) }, {})).toThrow(message);
  });

  test('a file that is not there, or is a folder, is refused', () => {
    expect(() => readSecret({ file: join(folder, 'none') }, {})).toThrow(/does not exist/);
    chmodSync(folder, 0o700);
    expect(() => readSecret({ file: folder }, {})).toThrow(/is not a file/);
  });
});

describe('a secret in a variable', () => {
  test('is read', () => {
    expect(readSecret({ env: 'T' }, { T: 's3cr3t' }).reveal()).toBe('s3cr3t');
  });

  test.each([{}, { T: '' }])('is missed where the environment is %j', (environment) => {
    expect(() => readSecret({ env: 'T' }, environment)).toThrow(/environment variable T,/);
  });
});

test('a stored secret can be read by its owner alone, and replaces an earlier one', () => {
  const place = { configurationFile: join(folder, 'conf/tokenctl.yaml'), context: 'lab', kind: 'token' };
  storeSecret(new Secret('first'), place);
  const file = storeSecret(new Secret('second'), place);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, 'conf/secrets')).mode & 0o777).toBe(0o700);
  expect(readSecret({ file }, {}).reveal()).toBe('second');
});
