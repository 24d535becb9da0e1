import { boolean, string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Configure a nightly sweep',
  description: `Asks for the controller, the rules that select tokens, the time and a webhook for \
notifications, unless flags provide them. Logs in if there is no context. Writes the job nightly-sweep, \
shows what it would do now, and prints the commands to start it. Nothing is revoked. If the controller's \
settings contain LDAP servers, it drafts a directory for each (see tokenctl docs identity-providers), \
without the password. If tokenctl was installed from the Debian or RPM package and you run this as root, it \
writes /etc/tokenctl/tokenctl.yaml and a systemd drop-in that passes the secrets to the service.`,
  examples: ['', '--context production --rules owner-inactive --schedule 02:30 --time-zone Europe/Berlin'],
  flags: {
    rules: string({ summary: 'The audit rules to revoke by, separated by commas.', helpValue: 'RULES' }),
    schedule: string({ summary: 'The time to run: HH:MM, or a cron expression.', helpValue: 'WHEN' }),
    'time-zone': string({
      summary: 'The time zone of the schedule, such as Europe/Berlin.',
      helpValue: 'ZONE',
    }),
    live: boolean({ summary: 'Revoke tokens instead of only reporting them.' }),
  },
  async run({ flags }) {
    const runtime = await this.runtime(flags);
    const { initFlow } = await import('../../src/cli/jobs/init-flow.ts');
    return await initFlow({ runtime, flags, version: this.config.version });
  },
});
