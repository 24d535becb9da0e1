import type { Environment } from '../../config/paths.ts';
import type { RecipientSettings } from '../../config/scheduler.ts';
import { readSecret } from '../../config/secrets.ts';
import { openEmail } from '../../notify/email.ts';
import { slackMessage } from '../../notify/slack.ts';
import { openWebhook } from '../../notify/webhook.ts';
import type { Notifier } from '../../operations/ports/notifier.ts';

/**
 * Builds the way to tell somebody.
 *
 * @throws TokenctlError `configuration` where its secret cannot be read or is no address.
 */
export function openNotifier(settings: RecipientSettings, environment: Environment): Notifier {
  if (settings.kind === 'email') {
    const { from, to, allowPlain } = settings;
    return openEmail({ server: readSecret(settings.server, environment), from, to, allowPlain });
  }
  const { url, signingSecret, kind } = settings;
  return openWebhook({
    url: readSecret(url, environment),
    ...(signingSecret !== undefined && { signingSecret: readSecret(signingSecret, environment) }),
    ...(kind === 'slack' && { encode: slackMessage }),
  });
}
