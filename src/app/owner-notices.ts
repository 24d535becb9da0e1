import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { OwnerNoticesSettings } from '../config/jobs.ts';
import type { Environment } from '../config/paths.ts';
import { readSecret } from '../config/secrets.ts';
import {
  defaultTemplate,
  type MailTemplate,
  placeholders,
  unknownPlaceholder,
} from '../domain/owner-mail.ts';
import { openMailer } from '../notify/email.ts';
import type { Mailer } from '../operations/ports/notifier.ts';
import type { OwnerNoticeRules } from '../operations/token-audit/owner-notices.ts';

/** Opens the mail server of the `ownerNotices` section. Throws `configuration` if its URL is invalid. */
export function openOwnerMailer(settings: OwnerNoticesSettings, environment: Environment): Mailer {
  const { from, allowPlain } = settings;
  return openMailer({ server: readSecret(settings.server, environment), from, allowPlain });
}

/** The `ownerNotices` section. Throws `configuration` without it, or for an unknown placeholder. */
export function requireOwnerNotices(settings: OwnerNoticesSettings | undefined): OwnerNoticesSettings {
  if (settings !== undefined) {
    for (const each of [settings.template, ...Object.values(settings.organizations)]) {
      if (each !== undefined) requirePlaceholders(each);
    }
    return settings;
  }
  throw new TokenctlError('configuration', 'Emails to owners are not configured', {
    hint: 'Add ownerNotices with server and from to the configuration.',
  });
}

function requirePlaceholders(template: MailTemplate): void {
  const unknown = unknownPlaceholder(template);
  if (unknown === null) return;
  throw new TokenctlError(
    'configuration',
    `A template in ownerNotices has an unknown placeholder {${unknown}}`,
    { hint: `Use ${placeholders.map((name) => `{${name}}`).join(', ')}.` },
  );
}

/** The rules of the section, in the operation's units. */
export function ownerNoticeRules(settings: OwnerNoticesSettings): OwnerNoticeRules {
  const { thresholds, revoked, revokedWithin, optOut, domains, atMost, organizations } = settings;
  return {
    thresholds,
    revoked,
    revokedWithin: revokedWithin * 1000,
    optOut,
    domains,
    atMost,
    organizations,
    template: settings.template ?? defaultTemplate,
  };
}
