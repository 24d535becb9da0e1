import { outputFlags, TokenctlCommand } from '../src/cli/base-command.ts';
import type { Result } from '../src/reports/result.ts';

export default class Version extends TokenctlCommand {
  static override summary = 'Print the version';

  static override description =
    'Prints the versions of tokenctl and of Node.js, and the platform, as --version does. With --json, prints name, \
version, node and platform.';

  static override examples = ['<%= config.bin %> <%= command.id %> --json'];

  /** The version needs no configuration. */
  static override baseFlags = outputFlags;

  async run(): Promise<
    Result<{
      readonly name: string;
      readonly version: string;
      /** The version of Node.js. */
      readonly node: string;
      readonly platform: string;
    }>
  > {
    await this.input(Version);
    const { report } = await import('../src/reports/result.ts');
    const { name, version, platform, arch } = this.config;
    const node = process.versions.node;
    return report({
      json: { name, version, node, platform: `${platform}-${arch}` },
      text: () => `${name}/${version} ${platform}-${arch} node-${node}\n`,
    });
  }
}
