import { defineCommand, outputFlags } from '../src/cli/base-command.ts';
import { requiredArgument } from '../src/cli/flags/flags.ts';
import type { DescribedCommand, Shell } from '../src/cli/shell-completion.ts';
import type { Report } from '../src/reports/result.ts';

export default defineCommand({
  summary: 'Print a completion script for a shell',
  description: `The script completes commands, flags, flag values and context names. The Debian package \
installs it for all three shells. Otherwise, add it to your shell configuration, and repeat this after each \
tokenctl update.

With bash, add this to ~/.bashrc: source <(tokenctl completion bash)

With zsh, add this to ~/.zshrc after compinit: source <(tokenctl completion zsh)

With fish, run: tokenctl completion fish > ~/.config/fish/completions/tokenctl.fish`,
  examples: ['bash'],
  /** The script is the same for any configuration. */
  baseFlags: outputFlags,
  args: { shell: requiredArgument('The shell.', ['bash', 'zsh', 'fish']) },
  async run({ args }): Promise<Report<{ readonly shell: Shell; readonly script: string }>> {
    const { completionScript, shells } = await import('../src/cli/shell-completion.ts');
    const { report } = await import('../src/reports/result.ts');
    const shell = shells.find((each) => each === args.shell) ?? 'bash';
    const { commands, version } = this.config;
    const script = completionScript(shell, { commands: commands as readonly DescribedCommand[], version });
    return report({ json: { shell, script }, text: () => script, verbatim: true });
  },
});
