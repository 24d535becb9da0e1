import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';
import { incidentReportFlags } from '../../src/cli/incident/incident-flags.ts';

export default defineCommand({
  summary: 'Create an incident report',
  description: `Explains what happened, whether it has ended, and how that is known: the timelines of the \
intruder and the responders, a picture of who created what, what was removed, what remains and how to fix \
it, what is unknown, and the audit log checkpoint with the command to verify it. The responders' actions \
come from the audit log: all runs that name the incident, its users or applications, or its ticket. The \
intruder's actions come from investigations saved with incident investigate --out. Provide one from before \
the cleanup and one from after it. Items marked as legitimate with incident mark, and actions from before \
the incident, are listed separately as the owner's work. Changes nothing.`,
  examples: [
    'inc-1a2b3c4d --from before.json --from after.json --format html --output report.html',
    'inc-1a2b3c4d --from after.json --format svg --output chain.svg',
  ],
  args: { incident: requiredArgument('The incident ID.') },
  flags: incidentReportFlags,
  async run({ args, flags }) {
    const { incidentReportFlow } = await import('../../src/cli/incident/report-flow.ts');
    const runtime = await this.runtime(flags);
    return await incidentReportFlow({
      runtime,
      incident: args.incident,
      flags,
      version: this.config.version,
    });
  },
});
