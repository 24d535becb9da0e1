import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';
import { stepFlags } from '../../src/cli/incident/incident-flags.ts';

export default defineCommand({
  summary: 'Mark a runbook step as done',
  description: `Records in the audit log that you completed a runbook step for an incident. It appears in \
incident report and incident timeline. This changes and checks nothing on the controller. It only records \
your statement.`,
  examples: [
    'inc-1a2b3c4d --runbook stolen-token --step 2',
    'inc-1a2b3c4d --runbook stolen-token --step 2 --undo',
  ],
  args: { incident: requiredArgument('The incident ID or its first characters.') },
  flags: stepFlags,
  async run({ args, flags }) {
    const runtime = await this.runtime(flags);
    const { stepFlow } = await import('../../src/cli/incident/runbook.ts');
    return await stepFlow({ runtime, incident: args.incident, flags, root: this.config.root });
  },
});
