import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';
import { incidentReportFlags } from '../../src/cli/incident/incident-flags.ts';

export default defineCommand({
  summary: 'Report an incident for people who were not there',
  description: `Answers what happened, whether it has ended, and how that is known: the timeline of the \
intruder beside that of the responders, a picture of who made what, what was ended, what remains with the \
remedy, what is not known, and the checkpoint of the audit log with the command that verifies it. What \
responders did comes from the audit log: the runs that name the incident, its users or applications, or its \
ticket. What the intruder did comes from investigations that incident investigate --out saved: give the one \
from before the clean-up and the one after it. What incident mark marked as legitimate, and what was done \
before the theft began, is listed separately as the work of the owner. Changes nothing.`,
  examples: [
    'inc-1a2b3c4d --from before.json --from after.json --format html --output report.html',
    'inc-1a2b3c4d --from after.json --format svg --output chain.svg',
  ],
  args: { incident: requiredArgument('The id of the incident.') },
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
