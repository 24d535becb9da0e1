import { string as textArgument } from '@oclif/core/args';
import { string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { changeFlags } from '../../src/cli/flags.ts';
import type { DecisionJson } from '../../src/cli/signals/decide-flow.ts';
import type { Result } from '../../src/reports/result.ts';

/** Has a held security event carried out. */
export default class SignalsRelease extends TokenctlCommand {
  static override summary = 'Have a held security event carried out';

  static override description =
    `Releases an event that is held, so that the receiver or the next run of the job signals-poll carries it out. With --user, \
it is carried out for this user; without, the subject is matched again. The limit of users in an hour does not apply. \
Exceptions and the account of tokenctl are never acted on.

With --json, prints what docs/schemas/signals-release.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> 1f0c9a2b77de --reason "confirmed with HR"',
    '<%= config.bin %> <%= command.id %> 1f0c9a2b77de --user alice --yes',
  ];

  static override args = {
    id: textArgument({
      description: 'The id of the event, or its first digits.',
      required: true,
      ignoreStdin: true,
    }),
  };

  static override flags = {
    user: string({ summary: 'The user whom the event is about.', helpValue: 'NAME' }),
    ...changeFlags,
  };

  async run(): Promise<Result<DecisionJson>> {
    const { args, flags } = await this.input(SignalsRelease);
    const { decideFlow } = await import('../../src/cli/signals/decide-flow.ts');
    const confirmation = await this.confirmation(flags);
    const runtime = await this.runtime(flags);
    const { user } = flags;
    return await decideFlow({ runtime, confirmation, id: args.id, decision: 'released', user, flags });
  }
}
