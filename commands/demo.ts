import { boolean } from '@oclif/core/flags';
import { defineCommand, outputFlags } from '../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Run a demo against a local service',
  description: `Starts an automation service on a free port of this machine, with a few hundred users and \
2,000 tokens, and runs the real commands against it. Changes nothing else, and removes everything it \
created. Exits with 0 only if every step ended as expected. Prints the same text with --json.`,
  saysJson: true,
  examples: ['', '--keep'],
  /** The demo ignores the configuration. */
  baseFlags: outputFlags,
  flags: { keep: boolean({ summary: 'Keep the service running afterwards.' }) },
  async run({ flags }) {
    const { playDemo } = await import('../src/app/demo/demo.ts');
    await playDemo({
      version: this.config.version,
      environment: process.env,
      root: this.config.root,
      keep: flags.keep === true,
    });
  },
});
