import { boolean } from '@oclif/core/flags';
import { defineCommand } from '../src/cli/base-command.ts';
import { allContextsFlag, port } from '../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Open the toolkit in a browser',
  description: `Serves a page on 127.0.0.1 that shows the contexts with their tokens, findings, incidents \
and the audit log, and that plans, confirms and carries out revocations and lockdowns as the commands do: \
with the same plans, the same audit log and the same confirmation by typing. The address that is printed \
works once, within five minutes. Credentials stay in this process.

Ends with Ctrl-C, or after 30 minutes without use; a change in progress is finished and recorded first. Prints \
nothing with --json.`,
  saysJson: true,
  staysRunning: true,
  examples: ['', '--all-contexts --read-only', '--context east,west --port 8099 --no-open'],
  flags: {
    port: port({ summary: 'The port to listen on. Default: any free port.', helpValue: 'N' }),
    open: boolean({ summary: 'Open the address in the browser. This is the default.', allowNo: true }),
    'read-only': boolean({ summary: 'Refuse every change.' }),
    ...allContextsFlag,
  },
  async run({ flags }) {
    const { runConsole } = await import('../src/console/server.ts');
    await runConsole({
      ...(await this.surroundings(flags)),
      allContexts: flags['all-contexts'] === true,
      port: flags.port ?? 0,
      open: flags.open ?? true,
      readOnly: flags['read-only'] === true,
      root: this.config.root,
      attended: process.stderr.isTTY === true,
    });
  },
});
