import { type ApplicationRule, DAY, daysBetween, daysText } from './rule.ts';
import type { WithDays } from './setting.ts';

/** Finds confidential applications with an old secret: a controller's application keeps its first one. */
export const applicationSecretOlderThan: ApplicationRule<WithDays> = {
  judges: 'applications',
  defaults: { enabled: true, severity: 'low', days: 365, exceptions: [] },
  needs: ['applications'],
  help: {
    finds: 'A confidential application whose secret is older than the given days.',
    matters: 'Everybody who ever configured the program knows it, and controllers cannot change it.',
    remedy: 'Register the application again, move the program over, and delete the old one with its tokens.',
    reference: 'NIST SP 800-53 IA-5: authenticators are changed after a time',
    parameters: { days: 'How old a secret may be.' },
  },
  prepare: ({ setting: { days }, facts }) => ({
    breaks: ({ clientType, created }) =>
      clientType === 'confidential' && facts.now.getTime() - created.getTime() > days * DAY,
    message: ({ created }) =>
      `Its secret is ${daysText(daysBetween(created, facts.now))} old; the limit is ${days}.`,
  }),
};
