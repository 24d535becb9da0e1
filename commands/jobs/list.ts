import { defineCommand } from '../../src/cli/base-command.ts';
import { csvFlag } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'List jobs with schedules and last runs',
  description: 'A job in "dry run" mode only reports what it would do. A "live" job changes its controller.',
  examples: ['', '--json'],
  flags: csvFlag,
  async run({ flags }) {
    const runtime = await this.runtime(flags);
    const { jobStates, schedulerText } = await import('../../src/app/jobs/inspect.ts');
    const { jobListing } = await import('../../src/cli/output/job-view.ts');
    const { writeNotice } = await import('../../src/cli/output/streams.ts');
    const states = await jobStates(runtime);
    const warning = states[0] && schedulerText(states[0].scheduler);
    if (warning) writeNotice(`Warning: ${warning}`);
    return jobListing(states);
  },
});
