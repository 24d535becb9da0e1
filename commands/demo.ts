import { boolean } from '@oclif/core/flags';
import { TokenctlCommand } from '../src/cli/base-command.ts';

/** Plays the demo. */
export default class Demo extends TokenctlCommand {
  static override summary =
    'See it at work: a service with thousands of tokens, and the real commands against it.';

  static override description =
    `Starts an automation service on a free port of this machine, with a few hundred users and some thousand tokens, \
and runs audit, plan, revocation, switch and verification against it, telling what it does. It touches nothing \
else, and removes what it made. It ends with 0 only if every step ended as told; it prints the story with --json too.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --keep',
  ];

  /** It works on its own service, whatever is configured. */
  static override baseFlags = {};

  static override flags = {
    keep: boolean({ summary: 'Leave the service running afterwards, and say what to try.' }),
  };

  async run(): Promise<void> {
    const { flags } = await this.input(Demo);
    const { playDemo } = await import('../src/app/demo/demo.ts');
    await playDemo({
      version: this.config.version,
      environment: process.env,
      root: this.config.root,
      keep: flags.keep === true,
    });
  }
}
