import { option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { instantOf, moment, replaceFlag, requiredArgument } from '../../src/cli/flags.ts';
import type { IncidentReportJson } from '../../src/cli/incident/report-flow.ts';
import type { Result } from '../../src/reports/result.ts';

export default class IncidentReport extends TokenctlCommand {
  static override summary = 'Report an incident for people who were not there';

  static override description =
    `Answers what happened, whether it is over, and how that is known: the timeline of the intruder beside that of the \
responders, a picture of who made what, what was ended, what remains with the remedy, what is not known, and the \
checkpoint of the audit log with the command that verifies it. What responders did comes from the audit log: the runs \
that name the incident, its users or applications, or its ticket. What the intruder did comes from investigations that \
incident investigate --out saved: give the one from before the clean-up and the one after it. What incident mark marked \
as honest work, and what was done before the theft began, is told apart as the work of the owner. Changes nothing.

With --json, prints what docs/schemas/incident-report.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> inc-1a2b3c4d --from before.json --from after.json --format html --output report.html',
    '<%= config.bin %> <%= command.id %> inc-1a2b3c4d --from after.json --format svg --output chain.svg',
  ];

  static override args = {
    incident: requiredArgument('The id of the incident.'),
  };

  static override flags = {
    from: string({
      summary: 'A saved investigation of this incident; can be given several times.',
      helpValue: 'FILE',
      multiple: true,
      multipleNonGreedy: true,
    }),
    since: moment({
      summary:
        'When the theft began: what was done before is reported as the work of the owner. Default: that of the last cleaning.',
      helpValue: 'WHEN',
    }),
    format: option({ options: ['markdown', 'html', 'svg'] as const })({
      summary: 'The format; svg is the picture alone. Default: markdown.',
      exclusive: ['json'],
    }),
    output: string({ summary: 'Write the report to this new file of mode 0600.', helpValue: 'FILE' }),
    ...replaceFlag,
  };

  async run(): Promise<Result<IncidentReportJson>> {
    const { args, flags } = await this.input(IncidentReport);
    const { incidentReportFlow } = await import('../../src/cli/incident/report-flow.ts');
    const { from = [], format = 'markdown', output, replace = false, since } = flags;
    const runtime = await this.runtime(flags);
    return await incidentReportFlow({
      runtime,
      incident: args.incident,
      from,
      since: since && instantOf(since, (await runtime.targetClock()).now()),
      format,
      output,
      replace,
      version: this.config.version,
    });
  }
}
