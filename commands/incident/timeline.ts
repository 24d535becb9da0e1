import { option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, count, instantOf, moment } from '../../src/cli/flags.ts';
import type { TimelineJson } from '../../src/cli/incident/timeline-flow.ts';
import { endOfNow } from '../../src/operations/ports/clock.ts';
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

  static override flags = {
    user: string({ summary: 'Show this user.', helpValue: 'NAME', exactlyOne: ['user', 'token'] }),
    token: count({ summary: 'Show the access token with this id; it may be deleted.', helpValue: 'NUMBER' }),
    since: moment({ summary: 'Start at this date, or this long ago (7d). Default: one day ago.' }),
    until: moment({ summary: 'End at this date, or this long ago. Default: now.' }),
    format: option({ options: ['text', 'markdown', 'html'] as const })({
      summary: 'The output format. Default: text.',
      exclusive: ['json'],
    }),
    ...allContextsFlag,
  };

  async run(): Promise<Result<TimelineJson>> {
    const { flags } = await this.input(IncidentTimeline);
    const { requireMergeable, timelineFlow } = await import('../../src/cli/incident/timeline-flow.ts');
    const { user, token, format = 'text' } = flags;
    const { requireOneContext } = await import('../../src/cli/multi-context/multi-context-flow.ts');
    return await this.inContexts(flags, null, async ({ runtime, several, context }) => {
      if (token !== undefined) requireOneContext({ several, context }, '--token');
      const clock = await runtime.targetClock();
      const now = clock.now();
      if (several) requireMergeable(format);
      return await timelineFlow({
        runtime,
        user,
        tokenId: token,
        since: instantOf(flags.since ?? { ago: 86_400_000 }, now),
        until:
          flags.until === undefined
            ? endOfNow(clock, await runtime.description())
            : instantOf(flags.until, now),
        format,
      });
    });
  }
}
