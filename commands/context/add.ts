import { string as stringArgument } from '@oclif/core/args';
import { boolean, option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { AddedContextJson } from '../../src/cli/contexts/add-context.ts';
import { credentialFlags, databaseFlags } from '../../src/cli/contexts/context-flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Adds a context. */
export default class ContextAdd extends TokenctlCommand {
  static override summary = 'Add a context';

  static override description =
    `A context is a name for a controller, with its address and credential. Give --url for the REST API, or one of \
the database flags for the database. The credential comes from a file that only you can read, from an \
environment variable, from stdin or, without a flag, from a prompt. A database password is part of the URL or in \
~/.pgpass. The configuration file refers to the credential and never contains it. The first context becomes the \
current one.

With --json, prints what docs/schemas/context-add.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> production --url https://controller.example.org --token-file ./admin.token',
    '<%= config.bin %> <%= command.id %> lab --url https://lab.example.org --username admin',
    '<%= config.bin %> <%= command.id %> production-db --database-file ./controller.database',
  ];

  static override args = {
    name: stringArgument({ description: 'The name of the context.', required: true, ignoreStdin: true }),
  };

  static override flags = {
    url: string({
      summary: 'The address of the controller.',
      exclusive: ['database', 'database-file', 'database-env'],
    }),
    username: string({ summary: 'The user name for a password.', helpValue: 'NAME' }),
    'ca-file': string({
      summary: "The CA certificate that signed the controller's certificate.",
      helpValue: 'FILE',
    }),
    'verify-ssl': boolean({
      summary: "Verify the controller's TLS certificate. This is the default.",
      allowNo: true,
    }),
    component: option({ options: ['gateway', 'controller'] as const })({
      summary: 'Use only this component of a platform. Default: both.',
    }),
    'database-context': string({
      summary: "The existing context of the same controller's database, to name in printed commands.",
      helpValue: 'NAME',
      exclusive: ['database', 'database-file', 'database-env'],
    }),
    group: string({
      summary: 'Add the context to this group; --context GROUP selects all its members.',
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'NAME',
    }),
    replace: boolean({ summary: 'Replace an existing context with this name.' }),
    ...credentialFlags,
    ...databaseFlags,
  };

  async run(): Promise<Result<AddedContextJson>> {
    const { args, flags } = await this.input(ContextAdd);
    const runtime = await this.runtime({ ...flags, context: undefined, 'database-file': undefined });
    const { contextFlow } = await import('../../src/cli/contexts/add-context.ts');
    const { configuration, environment } = runtime;
    return await contextFlow({ configuration, environment, name: args.name, flags });
  }
}
