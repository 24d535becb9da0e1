import { expect, test } from 'vitest';
import { auditUnavailable } from '../../src/audit-log/failures.ts';
import { TokenctlError } from '../../src/domain/errors.ts';

const path = '/var/lib/tokenctl/audit.jsonl';

test.each([
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'quota'],
  ['EACCES', 'permission denied'],
  ['EROFS', 'read-only'],
  ['ELOOP', 'symbolic link'],
  ['EIO', 'the disk failed'],
  ['ESOMETHING', 'ESOMETHING'],
])('%s is told in words, with the path and what to do', (code, words) => {
  const error = auditUnavailable(path, 'written', Object.assign(new Error('low-level'), { code }));
  expect(error).toMatchObject({ code: 'audit_unavailable', hint: expect.stringMatching(/\w/) });
  expect(error.message).toContain(words);
  expect(error.message).toContain(path);
});

test('an error that is in words already stays as it is', () => {
  const error = new TokenctlError('audit_unavailable', 'in words');
  expect(auditUnavailable(path, 'written', error)).toBe(error);
});
