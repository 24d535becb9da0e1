import type { CheckedTarget } from '../../operations/contexts/check-target.ts';
import type { MissingRight, RightsPurpose, TargetDescription } from '../../operations/ports/target.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { printable } from '../../reports/tables/text.ts';

/** A target that answers, as a command's result. */
export function checkResult(checked: CheckedTarget): Report {
  return report({ json: checked, text: () => checkText(checked) });
}

function checkText(checked: CheckedTarget): string {
  const { context, address, credential, transport, missingRights } = checked;
  const can = abilities(checked);
  const lines = [
    `Context "${context}" ${can.able.length === 0 ? 'answers, and can do nothing' : 'works'}.`,
    `  Answers:  ${printable.value(answersText(checked))} at ${address}`,
    `  You are:  ${identityText(checked)}, ${CREDENTIALS[credential]}`,
    ...(credential === 'database_role' ? [`  Over:     ${TRANSPORTS[transport]}`] : []),
    ...(can.able.length === 0 ? [] : [`  Can do:   ${can.able.join(', ')}`]),
    ...(can.unable.length === 0 ? [] : [`  Cannot:   ${can.unable.join(', ')}`]),
    ...checked.warnings.map((warning) => `  Warning:  ${printable.value(warning)}`),
    ...missingLines(missingRights),
  ];
  return `${lines.join('\n')}\n`;
}

const CREDENTIALS: Readonly<Record<TargetDescription['credential'], string>> = {
  token: 'with a token',
  password: 'with a password',
  database_role: 'a role of the database',
};

const TRANSPORTS: Readonly<Record<TargetDescription['transport'], string>> = {
  https: 'TLS, the certificate checked',
  https_unverified: 'TLS, the certificate not checked',
  http: 'an unencrypted connection',
  tls: 'TLS, the certificate checked',
  tls_unverified: 'TLS, the certificate not checked',
  plain: 'an unencrypted connection',
  local: 'a socket of this machine',
};

/** A product and its version over REST; whose tables there are in a database, which tells no version. */
function answersText({ dialect, version, credential }: CheckedTarget): string {
  if (version !== null) return `${dialect} ${version}`;
  if (credential !== 'database_role') return dialect;
  return `the tables of ${dialect === 'service' ? "tokenctl's own service" : `a ${dialect}`}`;
}

function identityText({ identity: { username, isSuperuser, isSystemAuditor }, credential }: CheckedTarget) {
  const name = printable.value(username);
  if (credential === 'database_role') return name;
  if (isSuperuser) return `${name} (superuser)`;
  return `${name} (${isSystemAuditor ? 'system auditor' : 'normal user'})`;
}

function abilities({ capabilities, identity, missingRights, credential }: CheckedTarget) {
  const may = (purpose: RightsPurpose) => missingRights.every((right) => right.purpose !== purpose);
  const inDatabase = credential === 'database_role';
  const { isSuperuser } = identity;
  const revokes = capabilities.changes && may('revoke');
  const named: readonly (readonly [boolean, string])[] = [
    [may('read'), 'list access tokens'],
    [revokes, isSuperuser || inDatabase ? 'revoke access tokens' : 'revoke own access tokens'],
    [capabilities.createTokens && may('create'), 'create tokens'],
    [capabilities.settings && may('read'), 'read settings'],
    [
      capabilities.settings && capabilities.changes && (isSuperuser || inDatabase) && may('settings'),
      'change settings',
    ],
    [capabilities.refreshTokens && revokes, 'revoke refresh tokens'],
    [capabilities.sessions && capabilities.changes && may('sessions'), 'end sessions'],
    ...(inDatabase ? [[capabilities.changes && may('cleanup'), 'clean up'] as const] : []),
    [capabilities.lastUsed && may('read'), "show each token's last use"],
  ];
  return {
    able: named.filter(([can]) => can).map(([, name]) => name),
    unable: named.filter(([can]) => !can).map(([, name]) => name),
  };
}

const PURPOSES: Readonly<Record<RightsPurpose, string>> = {
  read: 'read',
  revoke: 'revoke tokens',
  sessions: 'end sessions',
  settings: 'change settings',
  create: 'create tokens',
  cleanup: 'clean up',
  users: 'deactivate users',
};

/** What an administrator of the database would have to run, by what it is for. */
function missingLines(missing: readonly MissingRight[]): string[] {
  const byPurpose = Map.groupBy(missing, ({ purpose }) => purpose);
  return [...byPurpose].flatMap(([purpose, rights]) => [
    '',
    `To ${PURPOSES[purpose]}, this role needs:`,
    ...rights.map(({ grant }) => `  ${printable.value(grant)};`),
  ]);
}
