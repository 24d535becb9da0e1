import { defineCommand } from '../../src/cli/base-command.ts';
import { timelineFlags } from '../../src/cli/incident/incident-flags.ts';

export default defineCommand({
  summary: 'Show the timeline of a user or a token',
  description: `Merges three sources in chronological order: the controller's activity stream, tokenctl's \
audit log, and the token dates (created, last used, expires). Times are UTC.`,
  examples: ['--user alice --since 7d', '--token 4711 --since 2026-11-01 --format markdown'],
  flags: timelineFlags,
  async run({ flags }) {
    const { timelineFlow } = await import('../../src/cli/incident/timeline-flow.ts');
    return await this.inContexts(flags, (member) => timelineFlow({ ...member, flags }));
  },
});
