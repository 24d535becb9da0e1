import { option, string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { age, changeFlags } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Create a personal access token',
  description: `The token is written to a new file that only you can read. It is never printed or logged. \
You can use the file as a context's credential: context add NAME --url URL --token-file FILE. Over REST, the \
token belongs to you. Over a database connection, specify its user with --user.

Its lifetime comes from the controller's settings. --for ends it earlier. A database and tokenctl's own \
service store the end time. Other REST APIs do not accept one, so a lease is recorded in the audit log, and \
the job lease-end revokes the token (see tokenctl docs short-lived-tokens). Only a database context accepts \
--expires, which may also be later.`,
  examples: [
    '--scope read --description "nightly report" --output ./report.token',
    '--scope write --for 6h --output ./admin.token --yes --ticket OPS-17',
    '--context production-db --user robot --scope write --expires 90d --output ./robot.token',
  ],
  flags: {
    scope: option({ options: ['read', 'write'] as const })({
      summary: 'The scope of the token. The scope write includes read.',
      required: true,
    }),
    output: string({ summary: 'The new file to write the token to.', required: true, helpValue: 'FILE' }),
    user: string({
      summary: 'The user to create the token for. Over REST, this is always you.',
      helpValue: 'NAME',
    }),
    description: string({ summary: 'A description of the token.', helpValue: 'TEXT' }),
    for: age({
      summary: 'End the token after this time (6h), at most the configured lifetime.',
      exclusive: ['expires'],
    }),
    expires: age({ summary: 'How long the token is valid (90d). Requires a database context.' }),
    ...changeFlags,
  },
  async run({ flags }) {
    const { creationFlow } = await import('../../src/cli/tokens/creation-flow.ts');
    const { scope, description = '', user, expires } = flags;
    const lifetime = expires === undefined ? undefined : Math.round(expires / 1000);
    const request = { scope, description, user, lifetime };
    const { output, for: lasts } = flags;
    const seconds = lasts === undefined ? undefined : Math.round(lasts / 1000);
    return await this.change(flags, (change) => creationFlow({ ...change, request, output, seconds }));
  },
});
