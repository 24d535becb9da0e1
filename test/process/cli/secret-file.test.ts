import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import { expect, test } from 'vitest';
import { requireNewFile, reserveSecretFile, writeSecretFile } from '../../../src/app/secret-file.ts';
import { temporaryFolder } from './program.ts';

/** A secret that cannot be taken out: what fails while a file is filled. */
class Unwritable extends Secret {
  override reveal(): string {
    throw new Error('no space left');
  }
}

test('a file that is filled holds the secret, for its owner only', () => {
  const path = join(temporaryFolder(), 'value');
  requireNewFile(path);
  expect(existsSync(path)).toBe(false);
  reserveSecretFile(path).fill(new Secret('s3cr3t'));
  expect(readFileSync(path, 'utf8')).toBe('s3cr3t\n');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(() => requireNewFile(path)).toThrow(/already exists/);
  expect(() => reserveSecretFile(path)).toThrow(/already exists/);
});

test('the room for a secret is on the disk before there is one', () => {
  const path = join(temporaryFolder(), 'value');
  const file = reserveSecretFile(path);
  const { size, blocks } = statSync(path);
  expect(blocks * 512).toBeGreaterThanOrEqual(size);
  expect(size).toBeGreaterThan(1000);
  expect(readFileSync(path, 'utf8').trim()).toBe('');
  file.fill(new Secret('s'.repeat(10_000)));
  expect(readFileSync(path, 'utf8')).toBe(`${'s'.repeat(10_000)}\n`);
});

test('a file that cannot be filled does not stay, so that the next attempt can make it', () => {
  const path = join(temporaryFolder(), 'value');
  const file = reserveSecretFile(path);
  expect(() => file.fill(new Unwritable('s3cr3t'))).toThrow('no space left');
  expect(existsSync(path)).toBe(false);
});

test('a secret that exists already is written, or refused with the reason', () => {
  const path = join(temporaryFolder(), 'value');
  expect(() => writeSecretFile(path, new Unwritable('s3cr3t'))).toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringContaining('Cannot write to the file') }),
  );
  writeSecretFile(path, new Secret('s3cr3t'));
  expect(readFileSync(path, 'utf8')).toBe('s3cr3t\n');
});

test('a folder that is not there is found out beforehand', () => {
  const folder = join(temporaryFolder(), 'nowhere');
  expect(() => requireNewFile(join(folder, 'value'))).toThrow(/cannot be created \(ENOENT\)/);
  mkdirSync(folder);
  expect(() => requireNewFile(join(folder, 'value'))).not.toThrow();
  rmSync(folder, { recursive: true });
});
