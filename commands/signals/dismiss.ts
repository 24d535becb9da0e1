import { string as textArgument } from '@oclif/core/args';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { changeFlags } from '../../src/cli/flags.ts';
import type { DecisionJson } from '../../src/cli/signals/decide-flow.ts';
import type { Result } from '../../src/reports/result.ts';

/** Ends a held security event without an act. */
export default class SignalsDismiss extends TokenctlCommand {
  static override summary = 'End a held security event without an act';

  static override description =
    `Dismisses an event that is held: nothing is done for it, now or when it is sent again. The audit log has who dismissed it, \
and why.

With --json, prints what docs/schemas/signals-dismiss.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> 1f0c9a2b77de --reason "a test of the provider"',
  ];

  static override args = {
    id: textArgument({
      description: 'The id of the event, or its first digits.',
      required: true,
      ignoreStdin: true,
    }),
  };

  static override flags = changeFlags;

  async run(): Promise<Result<DecisionJson>> {
    const { args, flags } = await this.input(SignalsDismiss);
    const { decideFlow } = await import('../../src/cli/signals/decide-flow.ts');
    const confirmation = await this.confirmation(flags);
    const runtime = await this.runtime(flags);
    return await decideFlow({ runtime, confirmation, id: args.id, decision: 'dismissed', flags });
  }
}
