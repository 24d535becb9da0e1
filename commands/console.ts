import { boolean } from '@oclif/core/flags';
import { defineCommand } from '../src/cli/base-command.ts';
import { allContextsFlag, port } from '../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Open the web console',
  description: `Serves a web page on 127.0.0.1 that shows contexts, tokens, findings, incidents and the \
audit log. It can plan and run revocations and lockdowns like the commands do, with the same plans, audit \
log and confirmations. The printed address works once, within five minutes. Credentials stay in this \
process.

Stops on Ctrl-C, or after 30 minutes of inactivity. A change in progress is finished and recorded first. \
Prints nothing with --json.`,
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
