import { string } from '@oclif/core/args';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag } from '../../src/cli/flags.ts';
import { TokenctlError } from '../../src/domain/errors.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** A name beside the flag that names another, or all, would leave one of them out. */
function requireOneName(
  name: string | undefined,
  flags: { readonly context?: string | undefined; readonly 'all-contexts'?: boolean | undefined },
): void {
  if (name === undefined || (flags.context === undefined && flags['all-contexts'] !== true)) return;
  throw new TokenctlError('usage', 'Two answers to which context is meant: a name, and a flag', {
    hint: 'Leave one of them out.',
  });
}

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

  static override flags = { ...allContextsFlag };

  async run(): Promise<Result> {
    const { args, flags } = await this.input(ContextCheck);
    const { checkTarget } = await import('../../src/operations/contexts/check-target.ts');
    const { checkResult } = await import('../../src/cli/contexts/check-result.ts');
    requireOneName(args.name, flags);
    const named = { ...flags, context: args.name ?? flags.context };
    return await this.inContexts(named, null, async ({ runtime }) =>
      checkResult(await checkTarget({ target: await runtime.target() })),
    );
  }
}
