import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { timelineFlags } from '../../src/cli/incident/incident-flags.ts';
import type { TimelineJson } from '../../src/cli/incident/timeline-flow.ts';
import type { Result } from '../../src/reports/result.ts';

export default class IncidentTimeline extends TokenctlCommand {
  static override summary = 'Show the timeline of a user or a token';

  static override description =
    `Merges three sources in order of time: the controller's activity stream, the audit log of tokenctl, and the \
dates of the tokens (created, last used, expires). Times are UTC.

With --json, prints what docs/schemas/incident-timeline.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --user alice --since 7d',
    '<%= config.bin %> <%= command.id %> --token 4711 --since 2026-11-01 --format markdown',
  ];

  static override flags = timelineFlags;

  async run(): Promise<Result<TimelineJson>> {
    const { flags } = await this.input(IncidentTimeline);
    const { timelineFlow } = await import('../../src/cli/incident/timeline-flow.ts');
    return await this.inContexts(flags, null, (member) => timelineFlow({ ...member, flags }));
  }
}
