import { boolean, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { JobsInitJson } from '../../src/cli/jobs/init-flow.ts';
import type { Result } from '../../src/reports/result.ts';

export default class JobsInit extends TokenctlCommand {
  static override summary = 'Write a first sweep by answering questions';

  static override description =
    `Asks for the controller, the rules to revoke by, the time and a webhook for notices, where no flag says it, and logs in \
if there is no context. Writes the job nightly-sweep, shows what it would do now, and prints the commands that start it. \
Nothing is revoked. If the controller's settings name LDAP servers, it drafts a directory for each (docs/identity-providers.md), \
without the password. On a machine with the Debian or RPM package, root writes /etc/tokenctl/tokenctl.yaml, and a drop-in that \
hands the secrets to the service.

With --json, prints what docs/schemas/jobs-init.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --context production --rules owner-inactive --schedule 02:30 --time-zone Europe/Berlin',
  ];

  static override flags = {
    rules: string({ summary: 'The rules of the audit to revoke by, with commas.', helpValue: 'RULES' }),
    schedule: string({ summary: 'When: HH:MM, or a cron expression.', helpValue: 'WHEN' }),
    'time-zone': string({ summary: 'The time zone of the schedule, as Europe/Berlin.', helpValue: 'ZONE' }),
    live: boolean({ summary: 'Revoke, instead of only reporting.' }),
  };

  async run(): Promise<Result<JobsInitJson>> {
    const { flags } = await this.input(JobsInit);
    const runtime = await this.runtime(flags);
    const { initFlow } = await import('../../src/cli/jobs/init-flow.ts');
    return await initFlow({ runtime, flags, version: this.config.version });
  }
}
