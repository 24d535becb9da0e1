import { expect, test } from 'vitest';
import {
  isMasked,
  isSameValue,
  isSecretName,
  printableValue,
} from '../../../../src/domain/investigation/recorded-values.ts';

const SECRET = 'hunter2hunter2';

test.each([
  ['password', SECRET],
  ['host_config_key', SECRET],
  ['webhook_key', SECRET],
  ['inputs', { username: 'root', ssh_key_data: SECRET }],
  ['AUTH_LDAP_BIND_PASSWORD', SECRET],
  ['SOCIAL_AUTH_GITHUB_SECRET', SECRET],
  ['extra_vars', `{"db": {"password": "${SECRET}"}, "limit": "web"}`],
  ['extra_vars', `---\nhost: web\napi_key: ${SECRET}\n`],
  ['extra_vars', `---\ndb_password: |\n  ${SECRET}\nhost: web\n`],
  ['extra_vars', `---\nvault:\n  - db_password: >-\n\n      first\n      ${SECRET}\n  - host: web\n`],
  ['extra_vars', `---\n"db_password": ${SECRET}\n`],
  ['extra_vars', `{db_password: ${SECRET}, host: web}`],
  ['extra_vars', `---\ndb: {user: x, 'db_password': "${SECRET}"}\n`],
  ['extra_vars', `---\ndb_passwords:\n  - ${SECRET}\n`],
  ['extra_vars', `---\ndb_password:\n  value: ${SECRET}\n`],
  ['extra_vars', `---\nkey: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  ${SECRET}\n`],
  ['module_args', `db_password=${SECRET} name=web`],
  ['module_args', `mysql --db-password=${SECRET}`],
  ['module_args', `mysql --password ${SECRET} web`],
  ['module_args', `curl -u admin:${SECRET} https://web.example.org`],
  ['module_args', `curl -H "X-Api-Key: ${SECRET}"`],
  ['variables', { note: `token: ${SECRET}` }],
  ['scm_url', `https://user:${SECRET}@git.example.org/x.git`],
  ['url', `https://hooks.example.org/services/${SECRET}`],
  ['extra_vars', { list: [{ token: SECRET }] }],
  ['variables', `ansible_become_pass: ${SECRET}`],
  ['scm_url', `https://robot:${SECRET}@git.example.org/x.git`],
  ['extra_vars', `{"cmd": "curl -H 'Authorization: Bearer ${SECRET}' https://example.org"}`],
  ['extra_vars', `{"cmd": "mysql --password=${SECRET} -e x"}`],
  ['extra_vars', `{"a": "-----BEGIN PRIVATE KEY-----\\n${SECRET}\\n-----END PRIVATE KEY-----"}`],
  [
    'notification_configuration',
    `{"url": "https://hooks.example.org/services/${SECRET}", "http_method": "POST"}`,
  ],
  ['notification_configuration', { password: `$encrypted$UTF8$AESCBC$${SECRET}` }],
])('no secret of %s is printed: %j', (field, value) => {
  expect(JSON.stringify(printableValue(field, value) ?? null)).not.toContain(SECRET);
});

test.each([
  ['playbook', 'site.yml'],
  ['scm_url', 'https://evil.example/x.git'],
  ['become_enabled', true],
  ['limit', ''],
  ['ask_credential_on_launch', true],
  ['image', 'evil.example/ee:latest'],
])('what is no secret is printed: %s %j', (field, value) => {
  expect(printableValue(field, value)).toEqual(value);
});

test('variables are printed without the secrets in them', () => {
  expect(printableValue('extra_vars', `{"cmd": "id", "password": "${SECRET}"}`)).toEqual({
    cmd: 'id',
    password: '[hidden]',
  });
});

test('the lines after a secret are printed', () => {
  const text = `---\nwebs:\n- db_password: |\n    ${SECRET}\n\n    more\n  host: web\nport: 8080\ncmd: 'x --token ${SECRET} --limit web'\n`;
  expect(printableValue('extra_vars', text)).toBe(
    "---\nwebs:\n- db_password: [hidden]\n  host: web\nport: 8080\ncmd: 'x --token [hidden] --limit web'\n",
  );
});

test('names of secrets are told from names of amounts and switches', () => {
  const secret = [
    'password',
    'client_secret',
    'api_key',
    'apikey',
    'ssh_key_data',
    'vault_pass',
    'SOCIAL_AUTH_SAML_SP_PRIVATE_KEY',
  ];
  const plain = [
    'playbook',
    'ask_credential_on_launch',
    'ALLOW_OAUTH2_FOR_EXTERNAL_USERS',
    'monkey',
    'keyboard_layout',
  ];
  expect(secret.filter((name) => !isSecretName(name))).toEqual([]);
  expect(plain.filter(isSecretName)).toEqual([]);
});

test('what a controller masks cannot be put back', () => {
  expect(
    ['hidden', '************', '$encrypted$', '{"a": "$encrypted$"}', { a: '$encrypted$x' }].every(isMasked),
  ).toBe(true);
  expect([null, '', 'x', {}, 1].some(isMasked)).toBe(false);
});

test.each([
  ['inventory', 'Demo Inventory-1', 1, true],
  ['inventory', 'Demo Inventory-1', 2, false],
  ['inventory', null, null, true],
  ['extra_vars', '{"a": 1}', '{"a":1}', true],
  ['survey_spec', '{}', {}, true],
  ['extra_vars', '', '---', true],
  ['limit', '', null, true],
  ['limit', 'web', 'all', false],
  ['become_enabled', false, true, false],
  ['become_enabled', false, false, true],
])('%s: %j and %j are the same: %s', (field, recorded, current, same) => {
  expect(isSameValue(field, recorded, current)).toBe(same);
});
