import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';
import { markFlags } from '../../src/cli/investigation/investigation-flags.ts';

export default defineCommand({
  summary: 'Mark items as legitimate, resolved manually, or reassigned',
  description: `Records in the audit log that items of the investigations of an incident are legitimate work, \
not the intruder's. incident clean leaves what is marked, for everyone who works on the incident. Changes \
nothing on the controller, and checks nothing: it records your word. With --by-hand, the items count as \
resolved manually until the next investigation checks them. With --handed-over, another person or team decides about \
them: the report lists them as reassigned, and incident clean leaves what is not named.`,
  examples: [
    'inc-1a2b3c4d --item schedule:8 --item job_template:7',
    'inc-1a2b3c4d --item schedule:8 --undo',
    'inc-1a2b3c4d --item inventory:2 --by-hand',
    'inc-1a2b3c4d --item inventory:2 --handed-over --to "platform team" --reason "their hosts are in it"',
  ],
  args: { incident: requiredArgument('The incident id, or its first characters.') },
  flags: markFlags,
  async run({ args, flags }) {
    const runtime = await this.runtime(flags);
    const { markFlow } = await import('../../src/cli/investigation/mark-flow.ts');
    return await markFlow({ runtime, incident: args.incident, flags });
  },
});
