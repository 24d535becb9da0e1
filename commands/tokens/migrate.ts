import { defineCommand } from '../../src/cli/base-command.ts';
import type { FinishJson } from '../../src/cli/migration/finish-flow.ts';
import { migrationFlags } from '../../src/cli/migration/migration-flags.ts';
import type { MigrationJson } from '../../src/cli/migration/migration-flow.ts';
import type { Result } from '../../src/reports/result.ts';

export default defineCommand({
  summary: 'Replace controller tokens with gateway tokens',
  description: `According to the vendor's documentation, from platform version 2.7 on, only the gateway \
issues tokens, and controller tokens stop working. Lists the controller's live tokens, whether each owner \
has an account on the gateway (by the platform's user ID where both show it, otherwise by name), which \
applications have no counterpart there, and which tokens were used within --used-within. --dry-run changes \
nothing.

With --store or --output-dir, creates a gateway token with the same scope for each personal token in use, \
and stores its value. {consumer} in the path of a store is migrated-CONTROLLER-ID: the start of the \
controller's INSTALL_UUID and the ID of the old token. This requires a database context of the gateway. The \
old tokens are kept. The audit log records which token replaced which. To continue, run the command again \
with the same store.

--finish revokes old tokens, as tokens revoke does, if their replacement has been used and they have not \
been used for --quiet. See docs/runbooks/upgrade-to-2.7.md.`,
  exitCodes: 'Exit code 5: some tokens were not replaced or not revoked. Exit code 130: interrupted.',
  examples: [
    '--from production-db --to gateway-db --dry-run',
    '--from production-db --to gateway-db --used-within 180d --dry-run --csv',
    '--from production-db --to gateway-db --store ci --reason "before 2.7" --ticket OPS-27',
    '--from production-db --to gateway-db --finish --quiet 14d',
  ],
  flags: migrationFlags,
  async run({ flags }): Promise<Result<MigrationJson | FinishJson>> {
    if (flags.finish === true) {
      const { finishFlow } = await import('../../src/cli/migration/finish-flow.ts');
      return await this.change({ ...flags, context: flags.from }, finishFlow);
    }
    const { migrationFlow } = await import('../../src/cli/migration/migration-flow.ts');
    return await this.change({ ...flags, context: flags.to }, migrationFlow);
  },
});
