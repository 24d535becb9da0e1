import { string } from '@oclif/core/args';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { fleetFlags } from '../../src/cli/flags.ts';
import type { Result } from '../../src/cli/output/result.ts';

/** Checks the way to a controller. */
export default class ContextCheck extends TokenctlCommand {
  static override summary =
    'Check the way to a controller: who answers, who you are there, what can be done.';

  static override description =
    `What is wrong is told apart: the name, the port, the certificate, the credential.

With --json it prints context, address, dialect, version, identity, credential, transport, capabilities and \
warnings.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> production --json',
  ];

  static override args = {
    name: string({ description: 'The context, instead of the current one.', ignoreStdin: true }),
  };

  static override flags = { ...fleetFlags };

  async run(): Promise<Result> {
    const { args, flags } = await this.input(ContextCheck);
    const { checkTarget } = await import('../../src/operations/contexts/check-target.ts');
    const { checkResult } = await import('../../src/cli/contexts/check-result.ts');
    const named = { ...flags, context: args.name ?? flags.context };
    return await this.inContexts(named, null, async ({ runtime }) =>
      checkResult(await checkTarget({ target: await runtime.target() })),
    );
  }
}
