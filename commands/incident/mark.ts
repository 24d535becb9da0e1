import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';
import { markFlags } from '../../src/cli/investigation/investigation-flags.ts';

export default defineCommand({
  summary: 'Mark items as legitimate, resolved manually, or reassigned',
  description: `Records in the audit log that items in an incident's investigations are legitimate work. \
incident clean leaves marked items alone, no matter who runs it. This changes and checks nothing on the \
controller. It only records your statement. With --by-hand, items count as resolved manually until the next \
investigation checks them. With --handed-over, another person or team decides what to do. The report lists \
the items as reassigned, and incident clean skips them unless you name them.`,
  examples: [
    'inc-1a2b3c4d --item schedule:8 --item job_template:7',
    'inc-1a2b3c4d --item schedule:8 --undo',
    'inc-1a2b3c4d --item inventory:2 --by-hand',
    'inc-1a2b3c4d --item inventory:2 --handed-over --to "platform team" --reason "their hosts are in it"',
  ],
  args: { incident: requiredArgument('The incident ID or its first characters.') },
  flags: markFlags,
  async run({ args, flags }) {
    const runtime = await this.runtime(flags);
    const { markFlow } = await import('../../src/cli/investigation/mark-flow.ts');
    return await markFlow({ runtime, incident: args.incident, flags });
  },
});
