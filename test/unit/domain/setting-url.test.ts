import { readConnection } from '@tokenctl/common/db/connection-parameters.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { readSettingUrl } from '@tokenctl/common/setting-url.ts';
import { describe, expect, test } from 'vitest';
import { openEmail } from '../../../src/notify/email.ts';
import { openWebhook } from '../../../src/notify/webhook.ts';
import { SessionCache } from '../../../src/targets/database/session-cache.ts';

describe('a plain % in the URL of a setting is refused by the name of the setting, without the URL', () => {
  const from = 'tokenctl@example.org';
  const cache = (urls: string) =>
    new SessionCache({ urls: new Secret(urls), keyPrefix: 'gateway', verifyHostname: true });
  test.each<[string, string, () => unknown]>([
    [
      'smtp',
      "The mail server's URL",
      () => openEmail({ server: new Secret('smtp://u:secret%@h'), from, to: [from] }),
    ],
    ['webhook', 'The webhook URL', () => openWebhook({ url: new Secret('https://h/secret%zz') })],
    ['redis', 'The address of the session cache', () => cache('redis://u:secret%@h/0')],
    ['unix', 'The address of the session cache', () => cache('unix:///run/secret%.sock')],
    ['postgres', 'The database URL', () => readConnection(new Secret('postgres://u:secret%@h/d'), {})],
    [
      'postgres with Latin-1',
      'The database URL',
      () => readConnection(new Secret('postgres://u:secret%E9@h/d'), {}),
    ],
  ])('%s', (_, name, open) => {
    expect(open).toThrow(
      expect.objectContaining({
        code: 'configuration',
        message: `${name} has a % that is not part of an escape`,
        hint: 'Use %25 for a percent sign.',
      }),
    );
  });
});

test('the parts of a URL are decoded, and an address of IPv6 has no brackets', () => {
  expect(readSettingUrl('smtp://a%40b:100%25@[::1]:25', { name: 'x' })).toMatchObject({
    ...{ host: '::1', port: 25, username: 'a@b', password: '100%' },
  });
});

test('the mail server of an address of IPv6 is not looked up as a name', async () => {
  const from = 'tokenctl@example.org';
  const mail = openEmail({ server: new Secret('smtp://[::1]:1'), from, to: [from], allowPlain: true });
  const sent = mail.send({ id: 'a', type: 'token.expiring', at: new Date(0), data: { threshold: 7 } });
  await expect(sent).rejects.toThrow(/^The mail server at \[::1\]:1 could not be reached \((?!EDNS)/);
  await mail.close();
});
