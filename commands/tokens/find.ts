import { boolean, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, changeFlags } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Finds leaked tokens. */
export default class TokensFind extends TokenctlCommand {
  static override summary =
    'Find out which values of a scan, a paste or a log are tokens, whose, and revoke them.';

  static override description =
    `Reads a file, or standard input for -, and finds in its lines what looks like a token's value, whatever stands \
around it. In a database values are found by their hash; over REST each is presented to the controller, which tells \
nothing of refresh tokens and finds the token's id by its last use. Values are never printed, stored or logged, and go \
nowhere but to the target: tokens are named by id, owner and fingerprint.

With --json it prints lines, values, how (by_hash or by_trying), found (kind, live, ids, user, fingerprint, lines); with \
--revoke also revocation, as of tokens revoke; with --dry-run or where nothing is to be revoked, dryRun and plan.

Exits with 5 where a live one is left although --revoke was given.`;

  static override examples = [
    'git log -p | <%= config.bin %> <%= command.id %> --leaked -',
    '<%= config.bin %> <%= command.id %> --leaked scan.txt --revoke --reason "pushed to a public repository"',
  ];

  static override flags = {
    leaked: string({
      summary: 'The file with the values, or - for standard input.',
      helpValue: 'FILE',
      required: true,
    }),
    revoke: boolean({ summary: 'Revoke those that are live.', helpGroup: 'CHANGE' }),
    'include-own': boolean({
      summary: 'Revoke the token that this command itself uses as well, last.',
      helpGroup: 'CHANGE',
      dependsOn: ['revoke'],
    }),
    ...changeFlags,
    ...allContextsFlag,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(TokensFind);
    const { confirmationFrom: consentFrom } = await import('../../src/cli/confirmation.ts');
    const { leakedFlow } = await import('../../src/cli/incident/leaked-flow.ts');
    const { leakedSource } = await import('../../src/cli/incident/leaked-flow.ts');
    const confirmation = flags.revoke === true ? consentFrom(flags) : null;
    const linesFor = leakedSource(flags.leaked);
    return await this.inContexts(flags, confirmation, ({ several, runtime, confirmation }) =>
      leakedFlow({ runtime, confirmation, lines: linesFor({ several }), flags }),
    );
  }
}
