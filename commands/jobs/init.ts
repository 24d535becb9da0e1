import { boolean, string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Write a first sweep by answering questions',
  description: `Asks for the controller, the rules to revoke by, the time and a webhook for notices, where \
no flag says it, and logs in if there is no context. Writes the job nightly-sweep, shows what it would do \
now, and prints the commands that start it. Nothing is revoked. If the controller's settings name LDAP \
servers, it drafts a directory for each (tokenctl docs identity-providers), without the password. On a machine \
with the Debian or RPM package, root writes /etc/tokenctl/tokenctl.yaml, and a drop-in that hands the \
secrets to the service.`,
  examples: ['', '--context production --rules owner-inactive --schedule 02:30 --time-zone Europe/Berlin'],
  flags: {
    rules: string({ summary: 'The rules of the audit to revoke by, with commas.', helpValue: 'RULES' }),
    schedule: string({ summary: 'When: HH:MM, or a cron expression.', helpValue: 'WHEN' }),
    'time-zone': string({ summary: 'The time zone of the schedule, as Europe/Berlin.', helpValue: 'ZONE' }),
    live: boolean({ summary: 'Revoke, instead of only reporting.' }),
  },
  async run({ flags }) {
    const runtime = await this.runtime(flags);
    const { initFlow } = await import('../../src/cli/jobs/init-flow.ts');
    return await initFlow({ runtime, flags, version: this.config.version });
  },
});
