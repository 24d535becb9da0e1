import { defineCommand } from '../src/cli/base-command.ts';
import { loginFlags } from '../src/cli/contexts/context-flags.ts';
import { optionalArgument } from '../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Log in to a controller and store a token',
  description: `Asks for the address, user name and password unless you provide them. The password is not \
shown or stored. Creates a personal access token, stores it in a file that only you can read, tests it, and \
makes a context for it the current context. With --browser, you create the token in a browser and paste it. \
Use this for accounts with single sign-on. Logging in to the same address again replaces the token of its \
context.`,
  examples: [
    'controller.example.org',
    'https://controller.example.org --username admin --name production',
    'controller.example.org --browser',
    'controller.example.org --username admin --password-file ./password --database-context production-db',
  ],
  args: { address: optionalArgument('The address of the controller.') },
  flags: loginFlags,
  async run({ args, flags }) {
    const { loginFlow, requireNoPlace } = await import('../src/cli/contexts/login-flow.ts');
    requireNoPlace(flags);
    const runtime = await this.runtime(flags);
    const { configuration, environment } = runtime;
    const { address } = args;
    return await loginFlow({ configuration, environment, address, flags, version: this.config.version });
  },
});
