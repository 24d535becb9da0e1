import { custom, option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, count, instantOf, type Moment, parseMoment } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

const moment = custom<Moment>({ helpValue: 'WHEN', parse: async (input) => parseMoment(input) });

/** What a user or token did. */
export default class IncidentTimeline extends TokenctlCommand {
  static override summary = 'Say what a user or a token did, and what was done about them, in order.';

  static override description =
    `Puts together the controller's activity stream, this tool's audit log, and what the tokens themselves tell: made, \
last used, expires. Times are UTC.

With --json it prints subject, since, until and items (at, source: activity_stream, audit_log or token; who, what, data).`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --user alice --since 7d',
    '<%= config.bin %> <%= command.id %> --token 4711 --since 2026-11-01 --format markdown',
  ];

  static override flags = {
    user: string({ summary: 'Of this user.', helpValue: 'NAME', exactlyOne: ['user', 'token'] }),
    token: count({ summary: 'Of the access token with this id, which may be gone.', helpValue: 'NUMBER' }),
    since: moment({ summary: 'From a date on, or from an age ago (7d). One day ago by default.' }),
    until: moment({ summary: 'Until a date, or an age ago. Until now by default.' }),
    format: option({ options: ['text', 'markdown', 'html'] as const })({
      summary: 'How it is written.',
      exclusive: ['json'],
    }),
    ...allContextsFlag,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(IncidentTimeline);
    const { requireMergeable, timelineFlow } = await import('../../src/cli/incident/timeline-flow.ts');
    const { user, token, format = 'text' } = flags;
    const { requireOneContext } = await import('../../src/cli/multi-context/multi-context-flow.ts');
    return await this.inContexts(flags, null, ({ runtime, several, context }) => {
      if (token !== undefined) requireOneContext({ several, context }, '--token');
      const now = runtime.clock.now();
      if (several) requireMergeable(format);
      return timelineFlow({
        runtime,
        user,
        tokenId: token,
        since: instantOf(flags.since ?? { ago: 86_400_000 }, now),
        until: flags.until === undefined ? now : instantOf(flags.until, now),
        format,
      });
    });
  }
}
