import { defineCommand, outputFlags } from '../../src/cli/base-command.ts';
import { dryRunFlag, serviceDatabaseFlags } from '../../src/cli/flags/flags.ts';
import { report } from '../../src/reports/result.ts';

export default defineCommand({
  summary: 'Turn local logins back on',
  description: `Use this if the identity provider is unavailable while DISABLE_LOCAL_AUTH is on. Changes the \
setting in the service's database, so it needs read and write access to it. With PostgreSQL, the service can \
keep running and applies the change immediately. With the embedded database, stop the service first. The \
change is recorded in the activity stream. Ended sessions and tokens stay ended.`,
  examples: ['', '--database-file /etc/tokenctl/database'],
  /** The service has its own configuration. */
  baseFlags: outputFlags,
  flags: { ...serviceDatabaseFlags, ...dryRunFlag },
  async run({ flags }) {
    const { enableLocalAuth } = await import('../../src/app/service/run-service.ts');
    const { data, database, 'database-file': databaseFile, 'dry-run': dryRun = false } = flags;
    const changed = await enableLocalAuth({ data, database, databaseFile, dryRun }, process.env);
    const said = changed
      ? `Local accounts ${dryRun ? 'would be' : 'are'} turned on again.`
      : 'Local accounts were already on.';
    return report({
      json: {
        dryRun,
        /** Whether local logins were off. */
        changed,
      },
      text: () => `${said}${dryRun ? '\n\nDry run. Nothing was changed.' : ''}\n`,
    });
  },
});
