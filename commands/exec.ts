import { defineCommand } from '../src/cli/base-command.ts';
import { execFlags } from '../src/cli/exec/exec-flags.ts';

export default defineCommand({
  summary: 'Run a program with a temporary token',
  description: `Creates a token, runs the program with it, and revokes the token when the program ends, when \
a signal arrives, or after --for. The program gets the token in CONTROLLER_OAUTH_TOKEN, TOWER_OAUTH_TOKEN \
and AAP_TOKEN, and the controller's address in CONTROLLER_HOST, TOWER_HOST and AAP_HOSTNAME, where the awx \
CLI and the Ansible collections look for them. It does not get tokenctl's own credentials from the \
environment. The token is never written to a file or passed as an argument. tokenctl prints only to stderr.

The token's end time is recorded in the audit log before the program starts. If tokenctl is killed or cannot \
reach the controller, the job lease-end or the next exec in this context revokes the token after --for. \
tokens leases lists it.

With --via, the token comes from a broker (tokenctl docs pipelines). The program and its runner need no secret \
other than the identity that the CI system signs for the run. The token is returned to the broker when the \
program ends.

SIGINT, SIGQUIT, SIGTERM and SIGHUP are passed to the program, which then has ten seconds to stop. Ctrl-C in \
a terminal reaches the program directly, which decides whether to stop.`,
  exitCodes: `The exit code is the program's exit code, 128 plus the signal number if a signal ended it, or \
127 if it was not found. Exit code 5: the program ended with 0, but the token was not revoked or the \
revocation could not be verified. Errors before the program starts use the same exit codes as other \
commands.`,
  examples: [
    '-- awx job_templates launch 7 --monitor',
    '--scope read --for 10m -- ./inventory-report.sh',
    '--via https://broker.example.org -- ansible-playbook site.yml',
    '--context production-db --user robot --for 2h --env MY_TOKEN -- ansible-playbook site.yml',
  ],
  flags: execFlags,
  takesCommand: true,
  async run({ flags, rest }) {
    const { execFlow } = await import('../src/cli/exec/exec-flow.ts');
    const { carryOut } = await import('../src/cli/change/change.ts');
    const request = { runtime: await this.runtime(flags), flags, command: rest };
    const { viaFlow } = await import('../src/cli/exec/via-flow.ts');
    const planned = flags.via === undefined ? await execFlow(request) : viaFlow(request, flags.via);
    const report = await carryOut(request, planned);
    const { exitCode } = report.json;
    if (exitCode !== null && report.failure === undefined) this.exit(exitCode);
    return report;
  },
});
