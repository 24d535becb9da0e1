import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { Secret } from '../src/secret.ts';

test('a secret prints [redacted] however it is printed, and reveals itself only when asked', () => {
  const secret = new Secret('hunter2');
  const printed = [
    `${secret}`,
    String(secret),
    JSON.stringify({ secret }),
    inspect(secret),
    inspect({ secret }),
  ];
  for (const text of printed) {
    expect(text).toContain('[redacted]');
    expect(text).not.toContain('hunter2');
  }
  expect(Object.values(secret)).toEqual([]);
  expect(secret.reveal()).toBe('hunter2');
});
