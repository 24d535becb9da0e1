import { string as stringArgument } from '@oclif/core/args';
import { boolean, option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { credentialFlags, databaseFlags } from '../../src/cli/contexts/context-flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Adds a context. */
export default class ContextAdd extends TokenctlCommand {
  static override summary = 'Add a context: a name, an address and a credential.';

  static override description =
    `A controller is reached over its REST API (--url) or in its database (one of the database flags). The credential \
comes from a file that only you can read, the environment, stdin or, without a flag, from the keyboard; a database's is \
in its URL, or in ~/.pgpass. The configuration file says where it is and never holds it. The first context becomes the \
current one.

With --json it prints name, current, kind and file, the configuration file; of the kind rest also url, username, \
credential (kind, and file or env), caFile, verifyTls and component, of the kind database also database (a URL, or file or env).`;

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
    username: string({ summary: 'The user that a password belongs to.', helpValue: 'NAME' }),
    'ca-file': string({
      summary: "The authority that signed the controller's certificate.",
      helpValue: 'FILE',
    }),
    'verify-ssl': boolean({ summary: "Whether to check the controller's certificate.", allowNo: true }),
    component: option({ options: ['gateway', 'controller'] as const })({
      summary: 'Of a platform, its gateway or the controller behind it alone; both where not given.',
    }),
    group: string({
      summary: 'A group to put it in, such as prod: --context prod then means all of the group.',
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'NAME',
    }),
    replace: boolean({ summary: 'Replace the context of this name.' }),
    ...credentialFlags,
    ...databaseFlags,
  };

  async run(): Promise<Result> {
    const { args, flags } = await this.input(ContextAdd);
    const runtime = await this.runtime({ ...flags, context: undefined, 'database-file': undefined });
    const { contextFlow } = await import('../../src/cli/contexts/add-context.ts');
    const { configuration, environment } = runtime;
    return await contextFlow({ configuration, environment, name: args.name, flags });
  }
}
