import { string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { type Result, report } from '../../src/reports/tables/result.ts';

/** Turns the local accounts of the service on again, on its host. */
export default class ServiceEnableLocalAuth extends TokenctlCommand {
  static override summary = 'Turn local accounts on again, where nobody can log in to the service any more.';

  static override description =
    `For an identity provider that is gone while DISABLE_LOCAL_AUTH is on. It works in the service's database, \
with whoever may read that. On PostgreSQL the service may run and notices at once; on the embedded database \
stop it first. The activity stream has an entry afterwards. Sessions and tokens that ended stay ended.

With --json it prints changed: whether local accounts were off.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --database-file /etc/tokenctl/database',
  ];

  /** It has a configuration of its own: these flags and variables. */
  static override baseFlags = {};

  static override flags = {
    data: string({
      summary: 'The folder of the embedded database.',
      exclusive: ['database', 'database-file'],
      helpGroup: 'DATABASE',
      helpValue: 'DIR',
    }),
    database: string({
      summary: 'A postgres:// URL without a password.',
      exclusive: ['database-file'],
      helpGroup: 'DATABASE',
      helpValue: 'URL',
    }),
    'database-file': string({
      summary: 'A file of mode 0600 that holds a postgres:// URL.',
      helpGroup: 'DATABASE',
      helpValue: 'FILE',
    }),
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(ServiceEnableLocalAuth);
    const { enableLocalAuth } = await import('../../src/app/run-service.ts');
    const request = { data: flags.data, database: flags.database, databaseFile: flags['database-file'] };
    const changed = await enableLocalAuth(request, process.env);
    const said = changed ? 'Local accounts are on again.' : 'Local accounts were on already.';
    return report({ json: { changed }, text: () => `${said}\n` });
  }
}
