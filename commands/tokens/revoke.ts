import { boolean, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import {
  allContextsFlag,
  changeFlags,
  count,
  selectorFlags,
  selectorFrom,
  selectorOrAllFrom,
} from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Revokes tokens. */
export default class TokensRevoke extends TokenctlCommand {
  static override summary = 'Revoke tokens: plan, confirm, revoke, verify.';

  static override description =
    `What is to be revoked is shown first, and confirmed by typing the number of access tokens. Where the target can \
(in a database; over REST it cannot), refresh tokens go along: those beside the access tokens, and those of the \
selected users and applications that have lost theirs. \
Nothing is revoked that is not in the audit log before. Ctrl-C finishes and records the batches in flight; \
the same command again finishes the work, and counts what is gone already as unchanged.

With --json it prints the report: planned, revoked, unchanged, failed (tokenId, reason), notTried, stillAlive (of access \
tokens), refreshTokens (the same of refresh tokens; null where they were left alone), sessions (planned, ended, \
stillAlive, begunSince; null where they were), madeSince (accessTokens, refreshTokens that the selection names by now and \
the plan did not; null where refresh tokens were left alone, and with selections of single tokens), verified, kept, \
staysAlive (what, count, why, remedy), interrupted, stopped, run, seconds. With --dry-run, or where there is nothing to \
revoke: dryRun and plan, which names the ids of up to 10,000 tokens; of more, tokenIds and refreshTokenIds and their \
owners are null beside accessTokens and refreshTokens, the numbers, and digest.

Exits with 5 where some are left or somebody has a new refresh token since, with 130 after an interruption.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --user alice --dry-run',
    '<%= config.bin %> <%= command.id %> --unused-for 90d --reason "quarterly clean-up" --ticket OPS-17',
    '<%= config.bin %> <%= command.id %> --finding never-used --application "Jenkins"',
    '<%= config.bin %> <%= command.id %> --all --at-most 5000 --yes',
  ];

  static override flags = {
    ...selectorFlags,
    all: boolean({ summary: 'Every token.', helpGroup: 'SELECTION' }),
    finding: string({
      summary: 'Of the selected tokens (of all, where none are) those that this rule of the policy finds.',
      multiple: true,
      multipleNonGreedy: true,
      helpGroup: 'SELECTION',
      helpValue: 'RULE',
    }),
    policy: string({
      summary: "PolicyEvaluator by this file instead of the configuration's policy section.",
      dependsOn: ['finding'],
      helpGroup: 'SELECTION',
      helpValue: 'FILE',
    }),
    'at-most': count({
      summary: 'Refuse to revoke more tokens than this.',
      helpGroup: 'CHANGE',
      helpValue: 'N',
    }),
    'include-own': boolean({
      summary: 'Revoke the token that this command itself uses as well, last.',
      helpGroup: 'CHANGE',
    }),
    'access-only': boolean({
      summary: 'Leave refresh tokens alive: they can mint new access tokens.',
      helpGroup: 'CHANGE',
    }),
    'with-sessions': boolean({
      summary: "End the users' sessions as well; over REST it cannot be done.",
      helpGroup: 'CHANGE',
    }),
    ...changeFlags,
    ...allContextsFlag,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(TokensRevoke);
    const { confirmationFrom: consentFrom } = await import('../../src/cli/confirmation.ts');
    const { requireOneContext } = await import('../../src/cli/multi-context/multi-context-flow.ts');
    const { revocationFlow } = await import('../../src/cli/revocation/revocation-flow.ts');
    const confirmation = consentFrom(flags);
    const select = flags.finding === undefined ? selectorFrom : selectorOrAllFrom;
    const selector = select(flags, (await this.runtime(flags)).clock.now());
    return await this.inContexts(flags, confirmation, (member) => {
      if (flags.id !== undefined) requireOneContext(member, '--id');
      return revocationFlow({ ...member, selector, flags });
    });
  }
}
