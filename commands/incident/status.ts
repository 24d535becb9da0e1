import { boolean } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { Result } from '../../src/cli/output/result.ts';

/** Says what is locked down. */
export default class IncidentStatus extends TokenctlCommand {
  static override summary =
    'Say what is locked down since when, by whom, until when, and whether it still holds.';

  static override description =
    `Reads the audit log for what was locked down at this target, and the target for what is still so: a switch that was \
turned back, a user who is active again and a token of a locked user are named. An interrupted lockdown is shown as well.

With --json it prints an array: id, scope, measures, selection, since, by, context, reason, ticket, until, state \
(unfinished, locked, partly, lifting, lifted), locked, lifted, snapshot (file, sha256), kept, isOverdue, values (what, \
name, userId, before, locked, found, holds, incidents), aliveCount, alive (id, user, created, isNew), holds.

With --check it exits with 3 where an open incident does not hold, is overdue or unfinished.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --check --json',
  ];

  static override flags = {
    all: boolean({ summary: 'Show incidents that are lifted as well.' }),
    check: boolean({ summary: 'Exit with 3 where something does not hold.' }),
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(IncidentStatus);
    const runtime = await this.runtime(flags);
    const { incidentStatus } = await import('../../src/operations/incident/incident-status.ts');
    const { statusResult } = await import('../../src/cli/incident/status-result.ts');
    const description = await runtime.description();
    const incidents = await incidentStatus({
      target: await runtime.target(),
      description,
      log: await runtime.auditLog(),
      clock: runtime.clock,
      all: flags.all === true,
    });
    return statusResult(incidents, { description, check: flags.check === true });
  }
}
