import { boolean } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Says what is locked down. */
export default class IncidentStatus extends TokenctlCommand {
  static override summary =
    'Say what is locked down since when, by whom, until when, and whether it still holds.';

  static override description =
    `Reads the audit log for what was locked down at this target, and the target for what is still so: a switch that was \
turned back, a user who is active again and a token of a locked user are named. An interrupted lockdown is shown as well, \
and what the log last has of other addresses: the REST API and the database of one controller are two, and a context sees \
whether its own incidents hold, no others.

With --json it prints incidents and elsewhere. Of incidents: id, scope, measures, selection, since, by, context, reason, \
ticket, until, state (unfinished, locked, partly, lifting, lifted), locked, lifted, snapshot (file, sha256), kept, \
isOverdue, values (what, name, userId, before, locked, found, holds, incidents), aliveCount, alive (id, user, created, \
isNew), holds. Of elsewhere: the same from id to isOverdue, and address.

With --check it exits with 3 where an open incident does not hold, is overdue or unfinished.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --check --json',
  ];

  static override flags = {
    all: boolean({ summary: 'Show incidents that are lifted as well.' }),
    check: boolean({ summary: 'Exit with 3 where something does not hold.' }),
    ...allContextsFlag,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(IncidentStatus);
    const { incidentStatus } = await import('../../src/operations/incident/incident-status.ts');
    const { statusResult } = await import('../../src/cli/incident/status-result.ts');
    return await this.inContexts(flags, null, async ({ runtime, several }) => {
      const description = await runtime.description();
      const found = await incidentStatus({
        target: await runtime.target(),
        description,
        log: await runtime.auditLog(),
        clock: runtime.clock,
        all: flags.all === true,
      });
      // In several contexts each has its own: what is elsewhere is mostly shown there.
      const shown = several ? { ...found, elsewhere: [] } : found;
      return statusResult(shown, { description, check: flags.check === true });
    });
  }
}
