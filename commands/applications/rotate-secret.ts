import { string } from '@oclif/core/flags';
import type { ReplacedSecretJson } from '../../src/cli/applications/application-flow.ts';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { applicationArgument, applicationIdFlag, changeFlags } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/result.ts';

export default class ApplicationsRotateSecret extends TokenctlCommand {
  static override summary = 'Replace the client secret of an application';

  static override description =
    `Writes a new client secret to a new file that only you can read. It is never printed or logged. Access tokens stay \
valid; clients with the old secret can neither get nor refresh tokens. Needs a database context: the REST API of a \
controller takes such a change and keeps the old secret. A controller encrypts client secrets, so that its database also \
needs --secret-key: the key is checked with the present secret before anything is changed.

With --json, prints what docs/schemas/applications-rotate-secret.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> ci-pipeline --context production-db --secret-key /etc/tower/SECRET_KEY --output ./ci.secret',
    '<%= config.bin %> <%= command.id %> portal --context gateway-db --output ./portal.secret --yes --ticket OPS-17',
  ];

  static override args = { name: applicationArgument };

  static override flags = {
    output: string({ summary: 'The new file for the new secret.', required: true, helpValue: 'FILE' }),
    'secret-key': string({
      summary: "The file with the controller's SECRET_KEY.",
      helpValue: 'FILE',
    }),
    ...applicationIdFlag,
    ...changeFlags,
  };

  async run(): Promise<Result<ReplacedSecretJson>> {
    const { args, flags } = await this.input(ApplicationsRotateSecret);
    const { secretFlow } = await import('../../src/cli/applications/application-flow.ts');
    const confirmation = await this.confirmation(flags);
    const runtime = await this.runtime(flags);
    return await secretFlow({ runtime, confirmation, flags, name: { name: args.name, id: flags.id } });
  }
}
