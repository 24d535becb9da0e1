import { option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { changeFlags } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Creates a personal access token. */
export default class TokensCreate extends TokenctlCommand {
  static override summary = 'Create a personal access token, for yourself or in a database for any user.';

  static override description =
    `The value goes into a new file that only you can read, and nowhere else: not to the terminal, not into the \
audit log. The file can be the credential of a context: context add NAME --url URL --token-file FILE. Over REST a \
token is created for the caller, in a database for the user of --user.

With --json it prints token (as in tokens list) and output, the file. With --dry-run: dryRun, user, address, \
request, output.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --scope read --description "nightly report" --output ./report.token',
    '<%= config.bin %> <%= command.id %> --scope write --output ./admin.token --yes --ticket OPS-17',
    '<%= config.bin %> <%= command.id %> --context production-db --user robot --scope write --output ./robot.token',
  ];

  static override flags = {
    scope: option({ options: ['read', 'write'] as const })({
      summary: 'What the token may do: only read, or change things as well.',
      required: true,
    }),
    output: string({ summary: 'The new file for the value.', required: true, helpValue: 'FILE' }),
    user: string({ summary: 'Whose the token is to be; yours over REST.', helpValue: 'NAME' }),
    description: string({ summary: 'What the token is for.', helpValue: 'TEXT' }),
    ...changeFlags,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(TokensCreate);
    const { confirmationFrom: consentFrom } = await import('../../src/cli/confirmation.ts');
    const { creationFlow } = await import('../../src/cli/tokens/creation-flow.ts');
    const confirmation = consentFrom(flags);
    const runtime = await this.runtime(flags);
    const request = { scope: flags.scope, description: flags.description ?? '', user: flags.user };
    return await creationFlow({ runtime, confirmation, flags, request, output: flags.output });
  }
}
