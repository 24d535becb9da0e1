import { defineCommand, outputFlags } from '../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Print the version',
  description:
    'Prints the versions of tokenctl and of Node.js, and the platform, as --version does. With --json, prints name, \
version, node and platform.',
  saysJson: true,
  examples: ['--json'],
  /** The version needs no configuration. */
  baseFlags: outputFlags,
  async run() {
    const { report } = await import('../src/reports/result.ts');
    const { name, version, platform: system, arch } = this.config;
    const platform = `${system}-${arch}`;
    const node = process.versions.node;
    return report({
      json: {
        name,
        version,
        /** The version of Node.js. */
        node,
        platform,
      },
      text: () => `${name}/${version} ${platform} node-${node}\n`,
    });
  },
});
