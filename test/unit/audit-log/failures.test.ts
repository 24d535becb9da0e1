import { TokenctlError } from '@tokenctl/common/errors.ts';
import { expect, test } from 'vitest';
import { logUnavailable } from '../../../src/audit-log/failures.ts';

const path = '/var/lib/tokenctl/audit.jsonl';

test.each([
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'quota'],
  ['EACCES', 'permission denied'],
  ['EROFS', 'read-only'],
  ['ELOOP', 'symbolic link'],
  ['EIO', 'I/O error'],
  ['ESOMETHING', 'ESOMETHING'],
])('explains %s, with the path and a hint', (code, words) => {
  const error = logUnavailable(path, 'write', Object.assign(new Error('low-level'), { code }));
  expect(error).toMatchObject({ code: 'audit_unavailable', hint: expect.stringMatching(/\w/) });
  expect(error.message).toContain(words);
  expect(error.message).toContain(path);
});

test('keeps a TokenctlError as it is', () => {
  const error = new TokenctlError('audit_unavailable', 'in words');
  expect(logUnavailable(path, 'write', error)).toBe(error);
});
