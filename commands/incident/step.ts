import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';
import { stepFlags } from '../../src/cli/incident/incident-flags.ts';

export default defineCommand({
  summary: 'Tick off a step of a runbook',
  description: `Records in the audit log that you did a step of a runbook for an incident. incident report \
and incident timeline show it. Changes nothing on the controller, and checks nothing: it says what you say.`,
  examples: [
    'inc-1a2b3c4d --runbook stolen-token --step 2',
    'inc-1a2b3c4d --runbook stolen-token --step 2 --undo',
  ],
  args: { incident: requiredArgument('The incident id, or its first characters.') },
  flags: stepFlags,
  async run({ args, flags }) {
    const runtime = await this.runtime(flags);
    const { stepFlow } = await import('../../src/cli/incident/runbook.ts');
    return await stepFlow({ runtime, incident: args.incident, flags, root: this.config.root });
  },
});
