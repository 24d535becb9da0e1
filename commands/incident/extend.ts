import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';
import { extendFlags } from '../../src/cli/incident/incident-flags.ts';

export default defineCommand({
  summary: 'Change when a lockdown ends',
  description: `Does not change the controller. The new end time is recorded in the audit log. The job \
incident-lift and the command incident lift --due use it.`,
  examples: ['inc-1a2b3c4d --for 4h --reason "still investigating"'],
  args: { incident: requiredArgument('The incident ID or its first characters.') },
  flags: extendFlags,
  async run({ args, flags }) {
    const { extendFlow } = await import('../../src/cli/incident/lift-flow.ts');
    const { incident } = args;
    return await this.inContexts(flags, ({ runtime }) => extendFlow({ runtime, incident, flags }));
  },
});
