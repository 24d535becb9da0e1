import { TokenctlError } from '@tokenctl/common/errors.ts';
import { expect, test } from 'vitest';
import { failureOf, failureToText, ManagementError } from '../../../src/cli/errors/failure.ts';
import { inManagementWords } from '../../../src/cli/management/awx-manage.ts';

const WORDS = { code: 'not_found', message: 'The user does not exist.' } as const;

test('one kind of failure is told in the words and with the exit code of a management command', async () => {
  const failed = inManagementWords(
    Promise.reject(new TokenctlError('not_found', 'no user', { hint: 'x' })),
    WORDS,
  );
  await expect(failed).rejects.toBeInstanceOf(ManagementError);
  const failure = failureOf(await failed.catch((error: unknown) => error));
  expect(failure.exit).toBe(1);
  expect(failureToText(failure)).toBe('CommandError: The user does not exist.\n');
});

test('any other failure stays what it is', async () => {
  const other = new TokenctlError('target_unreachable', 'gone');
  await expect(inManagementWords(Promise.reject(other), WORDS)).rejects.toBe(other);
  expect(failureOf(other)).toMatchObject({ exit: 7, label: 'Error' });
  expect(await inManagementWords(Promise.resolve(5), WORDS)).toBe(5);
});
