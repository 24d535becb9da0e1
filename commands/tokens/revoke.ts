import { defineCommand } from '../../src/cli/base-command.ts';
import { instantFor } from '../../src/cli/flags/flags.ts';
import { revocationSelection, revokeFlags } from '../../src/cli/revocation/revocation-flags.ts';

export default defineCommand({
  summary: 'Revoke tokens',
  description: `Shows a plan, asks for confirmation, revokes the tokens, and verifies the result. To \
confirm, type the number of access tokens. Over a database connection, this also revokes the refresh tokens \
of these access tokens, the selected users' and applications' expired and orphaned refresh tokens, and their \
authorization codes. This is not possible over REST. If databaseContext is configured, the plan and the \
result list the refresh tokens, authorization codes and sessions seen in that context. Each change is \
recorded in the audit log before it is made. Ctrl-C starts nothing new and records in-flight changes. Over \
REST, this takes about a second. Run the same command again to finish. Tokens that are already revoked count \
as unchanged.

--plan-out saves the plan to a file: token IDs with owner, application, creation time and fingerprint; who \
created the plan, when, and for which controller; and a digest. The file contains no secrets. --plan applies \
exactly that plan. A plan is refused (exit code 2) if it was edited, belongs to another controller, or \
contains an ID that now belongs to another token. Tokens that no longer exist are listed.

--organization and --team mean the members and administrators at the time of the plan, based on their direct \
roles (see tokens list). They require an account that sees all tokens and users.

If the configuration requires a second person to approve (see tokenctl docs configuration), revoking more \
tokens than one person is allowed to revoke requires a plan that someone else approved with plan approve. \
Both are recorded in the audit log.`,
  exitCodes: `Exit code 5: some tokens remain, or new tokens or sessions match the selection, which is \
listed again after the revocation, also over the REST API. Exit code 130: interrupted.`,
  examples: [
    '--user alice --dry-run',
    '--unused-for 90d --reason "quarterly clean-up" --ticket OPS-17',
    '--finding never-used --application "Jenkins"',
    "--user 'ci-*' --not-user ci-legacy --created-before 2025-01-01",
    '--all --at-most 5000 --yes',
    '--unused-for 90d --plan-out plan.json',
    '--plan plan.json --ticket OPS-17',
  ],
  flags: revokeFlags,
  async run({ flags }) {
    const { readPlanFile } = await import('../../src/cli/change/plan-file.ts');
    const plan = flags.plan === undefined ? undefined : readPlanFile(flags.plan);
    if (plan === undefined) revocationSelection(flags, (await this.runtime(flags)).clock.now());
    if (flags.finding !== undefined) {
      const { policyOf, ruleNamed } = await import('../../src/cli/flags/policy-flags.ts');
      for (const rule of flags.finding) ruleNamed(rule);
      policyOf(await this.runtime(flags), { policy: flags.policy });
    }
    await this.confirmation(flags);
    if (flags['all-contexts'] !== true) await this.openingRuntime(flags);
    const { requireOneContext } = await import('../../src/cli/multi-context/multi-context-flow.ts');
    const { revocationFlow } = await import('../../src/cli/revocation/revocation-flow.ts');
    return await this.changeInContexts(flags, async (member) => {
      if (flags.id !== undefined) requireOneContext(member, '--id');
      if (flags.plan !== undefined) requireOneContext(member, '--plan');
      if (flags['plan-out'] !== undefined) requireOneContext(member, '--plan-out');
      const selection = plan ?? revocationSelection(flags, await instantFor(flags, member.runtime));
      return await revocationFlow({ ...member, selection, flags });
    });
  },
});
