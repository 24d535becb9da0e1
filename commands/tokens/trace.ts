import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { countArgument } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Shows the history of a token. */
export default class TokensTrace extends TokenctlCommand {
  static override summary = 'Show the history of a token';

  static override description =
    `Combines the token list, the activity stream (the token, and what its owner changed since it was created) and \
the audit log entries that name the token. It also works for a deleted token.

With --json, prints tokenId, token (as in tokens list; null if deleted), made and history (id, at, operation, \
actor, object, changes), ownerActivity (owner, since, count, more, last), entries (seq, at, kind, operation, \
run, actor, result), notTold (what, why) and visibility (as in context check).`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> 4711',
    '<%= config.bin %> <%= command.id %> 4711 --json',
  ];

  static override args = {
    id: countArgument({ description: 'The token id.', required: true }),
  };

  async run(): Promise<Result> {
    const { flags, args } = await this.input(TokensTrace);
    const runtime = await this.runtime(flags);
    const { traceToken } = await import('../../src/operations/token-audit/trace-token.ts');
    const { traceResult } = await import('../../src/cli/token-audit/trace-result.ts');
    const { noteLimit } = await import('../../src/cli/output/streams.ts');
    await noteLimit(runtime);
    const description = await runtime.description();
    const trace = await traceToken({
      target: await runtime.target(),
      description,
      log: await runtime.auditLog(),
      tokenId: args.id,
    });
    return traceResult(trace, description.visibility);
  }
}
