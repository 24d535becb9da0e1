import { string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { applicationArgument, applicationIdFlag, changeFlags } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Replace the client secret of an application',
  description: `Writes a new client secret to a new file that only you can read. It is never printed or \
logged. Access tokens stay valid. Clients that use the old secret can no longer get or refresh tokens. \
Requires a database context: a controller's REST API accepts the change but keeps the old secret. A \
controller encrypts client secrets, so its database also requires --secret-key. The key is checked against \
the current secret before anything is changed.`,
  examples: [
    'ci-pipeline --context production-db --secret-key /etc/tower/SECRET_KEY --output ./ci.secret',
    'portal --context gateway-db --output ./portal.secret --yes --ticket OPS-17',
  ],
  args: { name: applicationArgument },
  flags: {
    output: string({
      summary: 'The new file to write the new secret to.',
      required: true,
      helpValue: 'FILE',
    }),
    'secret-key': string({ summary: "The file with the controller's SECRET_KEY.", helpValue: 'FILE' }),
    ...applicationIdFlag,
    ...changeFlags,
  },
  async run({ args, flags }) {
    const { secretFlow } = await import('../../src/cli/applications/application-flow.ts');
    const name = { name: args.name, id: flags.id };
    return await this.change(flags, (request) => secretFlow({ ...request, name }));
  },
});
