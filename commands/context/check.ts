import { TokenctlError } from '@tokenctl/common/errors.ts';
import { defineCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, optionalArgument } from '../../src/cli/flags/flags.ts';

/** Rejects a name together with a flag that selects other contexts. */
function requireOneName(
  name: string | undefined,
  flags: { readonly context?: string | undefined; readonly 'all-contexts'?: boolean | undefined },
): void {
  if (name === undefined || (flags.context === undefined && flags['all-contexts'] !== true)) return;
  throw new TokenctlError('usage', 'Both a context name and a flag select the context', {
    hint: 'Use one of them.',
  });
}

export default defineCommand({
  summary: 'Check the connection to a controller',
  description: `Shows which controller answers, which account you use and what it can do there. \
Distinguishes DNS, port, TLS and credential errors.`,
  examples: ['', 'production --json'],
  args: { name: optionalArgument('The context to check. Default: the current one.') },
  flags: allContextsFlag,
  async run({ args, flags }) {
    const { checkTarget } = await import('../../src/operations/contexts/check-target.ts');
    const { checkResult } = await import('../../src/cli/contexts/check-result.ts');
    requireOneName(args.name, flags);
    const named = { ...flags, context: args.name ?? flags.context };
    const { openLeases } = await import('../../src/cli/leases/lease-text.ts');
    const { schedulerWarning } = await import('../../src/app/jobs/inspect.ts');
    let scheduler: Promise<string | null> | undefined;
    return await this.inContexts(named, async ({ runtime }) => {
      const checked = await checkTarget({
        target: await runtime.target(),
        clock: await runtime.targetClock(),
      });
      scheduler ??= schedulerWarning(runtime);
      const warning = await scheduler;
      return checkResult({
        ...checked,
        leases: await openLeases(runtime),
        warnings: [...checked.warnings, ...(warning === null ? [] : [warning])],
      });
    });
  },
});
