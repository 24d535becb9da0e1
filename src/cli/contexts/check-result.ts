import { assumptions } from '../../domain/tried-versions.ts';
import type { CheckedTarget } from '../../operations/contexts/check-target.ts';
import type { MissingRight, RightsPurpose, TargetDescription } from '../../operations/ports/target.ts';
import { RIGHTS_TEXT } from '../../operations/visibility.ts';
import { type Report, report } from '../../reports/result.ts';
import { expiryText, printable } from '../../reports/tables/text.ts';

/** What is known of the caller without a check. */
type Identity = Omit<CheckedTarget, 'warnings' | 'capabilities'>;

/** What `whoami` prints with `--json`. */
export type IdentityJson = Pick<
  CheckedTarget,
  'context' | 'address' | 'identity' | 'credential' | 'ownToken' | 'compatibility'
>;

/** The result of `context check`. */
export function checkResult(checked: CheckedTarget): Report<CheckedTarget> {
  return report({ json: checked, text: () => checkText(checked) });
}

function checkText(checked: CheckedTarget): string {
  const { context, address, credential, transport, missingRights, sessionCache } = checked;
  const can = abilities(checked);
  const lines = [
    `Context "${context}" ${can.able.length === 0 ? 'answers, but has no permissions' : 'works'}.`,
    `  Target:   ${printable.value(answersText(checked))} at ${address}`,
    ...triedLines(checked),
    `  User:     ${identityText(checked)}, ${CREDENTIALS[credential]}`,
    ...expiryLines(checked),
    `  Sees:     ${seesText(checked)}`,
    ...(credential === 'database_role' ? [`  Network:  ${TRANSPORTS[transport]}`] : []),
    ...(sessionCache?.problem === null
      ? [`  Cache:    sessions at ${sessionCache.addresses.join(', ')}`]
      : []),
    ...(can.able.length === 0 ? [] : [`  Can do:   ${can.able.join(', ')}`]),
    ...(can.unable.length === 0 ? [] : [`  Cannot:   ${can.unable.join(', ')}`]),
    ...checked.warnings.map((warning) => `  Warning:  ${printable.value(warning)}`),
    ...missingLines(missingRights),
  ];
  return `${lines.join('\n')}\n`;
}

/** The result of `whoami`. */
export function identityResult(checked: Identity): Report<IdentityJson> {
  const { context, address, identity, credential, ownToken, compatibility } = checked;
  return report({
    json: { context, address, identity, credential, ownToken, compatibility },
    text: () =>
      [
        `${identityText(checked)}, ${CREDENTIALS[credential]}`,
        `  At:       ${address} (context ${context})`,
        ...triedLines(checked),
        ...expiryLines(checked),
      ]
        .map((line) => `${line}\n`)
        .join(''),
  });
}

/** How its version stands to those that were tried, and what is assumed of which nothing was seen. */
function triedLines({ compatibility, dialect, version }: Identity): string[] {
  const assumed = assumptions({ dialect, version });
  return [
    `  Tried:    ${printable.value(compatibility.text)}`,
    ...(assumed.length === 0 ? [] : [`  Assumed:  ${assumed.join(' ')}`]),
  ];
}

/** When the own token expires; nothing without one. */
function expiryLines({ credential, ownToken: own }: Identity): string[] {
  if (credential !== 'token') return [];
  if (own === null) return ['  Expires:  unknown: this target does not list the token of this context'];
  const { ids, earliest, latest } = own;
  if (ids.length === 1) return [`  Expires:  ${expiryText(earliest)} (token ${ids[0]})`];
  return [
    `  Expires:  between ${expiryText(earliest)} and ${expiryText(latest)} (one of the tokens ${ids.join(', ')})`,
  ];
}

const CREDENTIALS: Readonly<Record<TargetDescription['credential'], string>> = {
  token: 'with a token',
  password: 'with a password',
  database_role: 'a database role',
};

const TRANSPORTS: Readonly<Record<TargetDescription['transport'], string>> = {
  https: 'TLS, certificate verified',
  https_unverified: 'TLS, certificate not verified',
  http: 'an unencrypted connection',
  tls: 'TLS, certificate verified',
  tls_unverified: 'TLS, certificate not verified',
  plain: 'an unencrypted connection',
  local: 'a local socket',
};

/** The product and its version. A database does not store the version, so only its tables are named. */
function answersText({ dialect, version, credential }: CheckedTarget): string {
  if (version !== null) return `${dialect} ${version}`;
  if (credential !== 'database_role') return dialect;
  return `the tables of ${dialect === 'service' ? "tokenctl's own service" : `a ${dialect}`}`;
}

function identityText({
  identity: { username, isSuperuser, isSystemAuditor },
  visibility,
  credential,
}: Identity) {
  const name = printable.value(username);
  if (credential === 'database_role') return name;
  if (isSuperuser) return `${name} (superuser)`;
  if (isSystemAuditor) return `${name} (system auditor)`;
  const administered = visibility.kind === 'all' ? [] : visibility.organizations.map(printable.value);
  if (administered.length === 0) return `${name} (normal user)`;
  return `${name} (organization administrator of ${administered.join(', ')})`;
}

function seesText({ visibility }: CheckedTarget): string {
  if (visibility.kind === 'all') return 'all tokens, users and applications';
  const { tokens, users, applications } = visibility;
  return printable.value([tokens, users, applications].join('; '));
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

const PURPOSES: Readonly<Record<RightsPurpose, string>> = { ...RIGHTS_TEXT, read: 'read' };

/** The missing grants by purpose, for the database administrator. */
function missingLines(missing: readonly MissingRight[]): string[] {
  const byPurpose = Map.groupBy(missing, ({ purpose }) => purpose);
  return [...byPurpose].flatMap(([purpose, rights]) => [
    '',
    `To ${PURPOSES[purpose]}, this role needs:`,
    ...rights.map(({ grant }) => `  ${printable.value(grant)};`),
  ]);
}
