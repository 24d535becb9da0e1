import { expect, test } from 'vitest';
import { nearestName } from '../../../src/domain/nearest-name.ts';

const known = ['user', 'unused-for', 'created-before', 'expired'];

test.each([
  ['usr', 'user'],
  ['User', 'user'],
  ['create-before', 'created-before'],
  ['unusedfor', 'unused-for'],
  ['expires', 'expired'],
  ['unused', 'unused-for'],
  ['create', 'created-before'],
  ['unuzed', 'unused-for'],
  ['creatd', 'created-before'],
])('%s is taken for %s', (typed, meant) => {
  expect(nearestName(typed, known)).toBe(meant);
});

test.each(['', 'x', 'us', 'password', 'application'])('"%s" is taken for nothing', (typed) => {
  expect(nearestName(typed, known)).toBeUndefined();
});
