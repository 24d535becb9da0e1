import { defineCommand } from '../src/cli/base-command.ts';
import { execFlags } from '../src/cli/exec/exec-flags.ts';

export default defineCommand({
  summary: 'Run a program with a token that ends with it',
  description: `Makes a token, runs the program with it, and revokes it when the program ends, on a signal, and after --for. The program \
finds the token in CONTROLLER_OAUTH_TOKEN, TOWER_OAUTH_TOKEN and AAP_TOKEN, and the controller in CONTROLLER_HOST, TOWER_HOST and \
AAP_HOSTNAME, as the awx CLI and the collections for Ansible read them; tokenctl's own credentials in the environment are left out. \
Nothing is written to a file, and nothing is an argument. tokenctl prints only to stderr.

The end of the token is in the audit log before the program starts. If tokenctl is killed, or the controller cannot be reached, the \
next exec in this context and the job lease-end revoke the token once --for has passed; tokens leases lists it.

With --via, the token is that of a broker (tokenctl docs pipelines): the program and its runner need no other secret than the \
identity that the CI system signs for the run, and the token is given back to the broker when the program ends.

SIGINT, SIGQUIT, SIGTERM and SIGHUP are passed on to the program, which has ten seconds then. Ctrl-C at a terminal reaches the program \
directly: whether it ends is up to the program.`,
  exitCodes: `The exit code is that of the program; 128 and the number of the signal that ended it; 127 if it is not found. \
Exit code 5: the program ended with 0, and the token was not revoked, or that could not be verified. Errors before the program \
starts have the codes of other commands.`,
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
