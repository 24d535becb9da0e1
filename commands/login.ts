import { string } from '@oclif/core/args';
import { TokenctlCommand } from '../src/cli/base-command.ts';
import { loginFlags } from '../src/cli/contexts/context-flags.ts';
import type { LoginJson } from '../src/cli/contexts/login-flow.ts';
import type { Result } from '../src/reports/result.ts';

export default class Login extends TokenctlCommand {
  static override summary = 'Log in at a controller and keep a token';

  static override description =
    `Asks for what is not given: the address, the user name and the password, which is not shown and not stored. \
Creates a personal access token, stores it in a file that only you can read, tries it, and makes a context for it the \
current one. With --browser, you create the token in a browser and paste it: for accounts with single sign-on. A second \
login at the same address replaces the token of its context.

With --json, prints what docs/schemas/login.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> controller.example.org',
    '<%= config.bin %> <%= command.id %> https://controller.example.org --username admin --name production',
    '<%= config.bin %> <%= command.id %> controller.example.org --browser',
    '<%= config.bin %> <%= command.id %> controller.example.org --username admin --password-file ./password --database-context production-db',
  ];

  static override args = {
    address: string({ description: 'The address of the controller.', ignoreStdin: true }),
  };

  static override flags = loginFlags;

  async run(): Promise<Result<LoginJson>> {
    const { args, flags } = await this.input(Login);
    const { loginFlow, requireNoPlace } = await import('../src/cli/contexts/login-flow.ts');
    requireNoPlace(flags);
    const runtime = await this.runtime(flags);
    const { configuration, environment } = runtime;
    const { address } = args;
    return await loginFlow({ configuration, environment, address, flags, version: this.config.version });
  }
}
