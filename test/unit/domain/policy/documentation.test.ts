import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { defaultPolicy, ruleNames, rules } from '../../../../src/domain/policy/policy.ts';

const page = readFileSync(new URL('../../../../docs/policy.md', import.meta.url), 'utf8');

test.each(ruleNames)('docs/policy.md describes %s as it is', (name) => {
  const { enabled, severity, exceptions: _exceptions, ...values } = defaultPolicy[name];
  const parameters = Object.entries(values).map(([key, value]) => `\`${key}: ${JSON.stringify(value)}\``);
  const level = enabled ? severity : `${severity}, off`;
  expect(page).toContain(`| \`${name}\` | ${rules[name].help.finds} | ${level} | ${parameters.join(', ')} |`);
});

test('README.md says how many rules there are', () => {
  const readme = readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8');
  expect(readme).toContain(`a policy of ${ruleNames.length} rules`);
});
