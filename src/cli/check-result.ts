import type { CheckedTarget } from '../operations/check-target.ts';
import { printable } from './printable.ts';
import { type Report, report } from './result.ts';

/** A target that answers, as a command's result. */
export function checkResult(checked: CheckedTarget): Report {
  return report({ json: checked, text: () => checkText(checked) });
}

function checkText({
  context,
  address,
  dialect,
  version,
  identity,
  credential,
  ...rest
}: CheckedTarget): string {
  const can = abilities(rest.capabilities, identity);
  const lines = [
    `Context "${context}" works.`,
    `  Answers:  ${dialect} ${printable.value(version)} at ${address}`,
    `  You are:  ${printable.value(identity.username)} (${roleText(identity)}), with a ${credential}`,
    `  Can do:   ${can.able.join(', ')}`,
    ...(can.unable.length === 0 ? [] : [`  Cannot:   ${can.unable.join(', ')}`]),
    ...rest.warnings.map((warning) => `  Warning:  ${printable.value(warning)}`),
  ];
  return `${lines.join('\n')}\n`;
}

function roleText({ isSuperuser, isSystemAuditor }: CheckedTarget['identity']): string {
  if (isSuperuser) return 'superuser';
  return isSystemAuditor ? 'system auditor' : 'normal user';
}

function abilities(
  capabilities: CheckedTarget['capabilities'],
  { isSuperuser }: CheckedTarget['identity'],
): { able: string[]; unable: string[] } {
  const named: readonly (readonly [boolean, string])[] = [
    [true, 'list access tokens'],
    [capabilities.changes, isSuperuser ? 'revoke access tokens' : 'revoke own access tokens'],
    [capabilities.createTokens, 'create tokens'],
    [capabilities.settings, 'read settings'],
    [capabilities.settings && capabilities.changes && isSuperuser, 'change settings'],
    [capabilities.refreshTokens, 'revoke refresh tokens'],
    [capabilities.sessions, 'end sessions'],
    [capabilities.lastUsed, "show each token's last use"],
  ];
  return {
    able: named.filter(([can]) => can).map(([, name]) => name),
    unable: named.filter(([can]) => !can).map(([, name]) => name),
  };
}
