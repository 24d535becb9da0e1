import { boolean } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { changeFlags, count } from '../../src/cli/flags.ts';
import type { Result } from '../../src/cli/result.ts';
import { selectorFlags, selectorFrom } from '../../src/cli/selector-flags.ts';

/** Revokes tokens. */
export default class TokensRevoke extends TokenctlCommand {
  static override summary = 'Revoke tokens: plan, confirm, revoke, verify.';

  static override description =
    `What is to be revoked is shown first, and confirmed by typing the number of tokens. \
Nothing is revoked that is not in the audit log before. Ctrl-C finishes and records the batches in flight; \
the same command again finishes the work, and counts what is gone already as unchanged.

With --json it prints the report: planned, revoked, unchanged, failed (tokenId, reason), notTried, stillAlive, \
verified, kept, staysAlive (what, count, why, remedy), interrupted, stopped, run, seconds. With --dry-run, or \
where there is nothing to revoke: dryRun and plan.

Exits with 5 where some are left, with 130 after an interruption.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --user alice --dry-run',
    '<%= config.bin %> <%= command.id %> --unused-for 90d --reason "quarterly clean-up" --ticket OPS-17',
    '<%= config.bin %> <%= command.id %> --all --at-most 5000 --yes',
  ];

  static override flags = {
    ...selectorFlags,
    all: boolean({ summary: 'Every token.', helpGroup: 'SELECTION' }),
    'at-most': count({
      summary: 'Refuse to revoke more tokens than this.',
      helpGroup: 'CHANGE',
      helpValue: 'N',
    }),
    'include-own': boolean({
      summary: 'Revoke the token that this command itself uses as well, last.',
      helpGroup: 'CHANGE',
    }),
    ...changeFlags,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(TokensRevoke);
    const { consentFrom } = await import('../../src/cli/consent.ts');
    const { revocationFlow } = await import('../../src/cli/revocation-flow.ts');
    const consent = consentFrom(flags);
    const runtime = await this.runtime(flags);
    const selector = selectorFrom(flags, runtime.clock.now());
    return await revocationFlow({ runtime, selector, consent, flags });
  }
}
