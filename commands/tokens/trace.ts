import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { countArgument } from '../../src/cli/token-audit/token-argument.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Tells what is known of a token. */
export default class TokensTrace extends TokenctlCommand {
  static override summary =
    'Say what is known of a token: made when and by whom, for what, used when, and what followed.';

  static override description =
    `It puts together what the controller's list says, what its activity stream says of the token and of what its owner \
changed since it was made, and which entries of the audit log name it. A token that is gone can be traced as well.

With --json it prints tokenId, token (as in tokens list; null where it is gone), made and history (id, at, operation, \
actor, object, changes), ownerActivity (owner, since, count, more, last), entries (seq, at, kind, operation, run, \
actor, result), notTold (what, why).`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> 4711',
    '<%= config.bin %> <%= command.id %> 4711 --json',
  ];

  static override args = {
    id: countArgument({ description: 'The id of the token.', required: true }),
  };

  async run(): Promise<Result> {
    const { flags, args } = await this.input(TokensTrace);
    const runtime = await this.runtime(flags);
    const { traceToken } = await import('../../src/operations/token-audit/trace-token.ts');
    const { traceResult } = await import('../../src/cli/token-audit/trace-result.ts');
    const trace = await traceToken({
      target: await runtime.target(),
      description: await runtime.description(),
      log: await runtime.auditLog(),
      tokenId: args.id,
    });
    return traceResult(trace);
  }
}
