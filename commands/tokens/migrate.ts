import { defineCommand } from '../../src/cli/base-command.ts';
import type { FinishJson } from '../../src/cli/migration/finish-flow.ts';
import { migrationFlags } from '../../src/cli/migration/migration-flags.ts';
import type { MigrationJson } from '../../src/cli/migration/migration-flow.ts';
import type { Result } from '../../src/reports/result.ts';

export default defineCommand({
  summary: "Replace a controller's tokens by those of its gateway",
  description: `From version 2.7 of the platform on, only its gateway issues tokens, by the vendor's documentation: those of a controller stop. This \
lists the living tokens of the controller, whether each owner has an account on the gateway (by the platform's id of the user where both show \
it, otherwise by name), which applications have no twin there, and what was used within --used-within. --dry-run changes nothing.

With --store or --output-dir, makes a token on the gateway for each personal token that is in use, with the same scope, and puts its value \
there; {consumer} in the place of a store is migrated-CONTROLLER-ID: the beginning of the controller's INSTALL_UUID, and the id of the old token. That needs a database context of the gateway. The old \
tokens stay. The audit log has which token took the place of which: run it again to go on, with the same store.

--finish revokes, as tokens revoke does, the old tokens whose new one was used and that were not used for --quiet. See docs/runbooks/upgrade-to-2.7.md.`,
  exitCodes: 'Exit code 5: some tokens got no new one, or were not revoked. Exit code 130: interrupted.',
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
