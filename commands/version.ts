import { defineCommand, outputFlags } from '../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Print the version',
  description:
    'Prints the versions of tokenctl (with the commit that it was built from, if known) and of Node.js, and the platform, as \
--version does. With --json, prints name, version, commit, node and platform.',
  saysJson: true,
  examples: ['--json'],
  /** The version needs no configuration. */
  baseFlags: outputFlags,
  async run() {
    const { builtFrom } = await import('../src/cli/load-all.ts');
    const { report } = await import('../src/reports/result.ts');
    const { name, version, platform: system, arch } = this.config;
    const platform = `${system}-${arch}`;
    const node = process.versions.node;
    const commit = builtFrom();
    return report({
      json: {
        name,
        version,
        /** The commit of the sources, with `-dirty` if they were modified; null if unknown. */
        commit,
        node,
        platform,
      },
      text: () => `${name}/${version}${commit === null ? '' : `+${commit}`} ${platform} node-${node}\n`,
    });
  },
});
