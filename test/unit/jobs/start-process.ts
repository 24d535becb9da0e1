import { TokenctlError } from '@tokenctl/common/errors.ts';
import { startScheduler } from '../../../src/app/jobs/start.ts';
import { exitCodeOf } from '../../../src/cli/errors/failure.ts';

// Runs the jobs of the configuration at the first argument until stopped, as `jobs start` does.
const notify = (line: string) => {
  process.stderr.write(`${line}\n`);
};
try {
  await startScheduler({
    flags: { config: process.argv[2] },
    environment: process.env,
    version: '0.0.0',
    notify,
  });
} catch (error) {
  notify(String(error));
  process.exitCode = error instanceof TokenctlError ? exitCodeOf(error.code) : 1;
}
