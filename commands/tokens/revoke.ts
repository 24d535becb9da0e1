import { defineCommand } from '../../src/cli/base-command.ts';
import { instantFor } from '../../src/cli/flags/flags.ts';
import { revocationSelection, revokeFlags } from '../../src/cli/revocation/revocation-flags.ts';

export default defineCommand({
  summary: 'Revoke tokens',
  description: `Shows a plan, asks for confirmation, revokes, and verifies the result. Confirm by typing the \
number of access tokens. Over a database connection, refresh tokens are revoked as well: those that belong \
to the access tokens, expired and orphaned ones of the selected users and applications, and their \
authorization codes. Over REST this is not possible: what the context that databaseContext names lists of them, and of sessions, is in the plan and in the result. Each change is recorded in the audit log before it is \
made. Ctrl-C begins nothing further, and records what is in flight; over REST that takes about a second. Run \
the same command again to finish; tokens that are already revoked count as unchanged.

--plan-out saves the plan to a file: tokens by id with owner, application, creation and fingerprint, who \
made it when for which controller, and a digest; no secrets. --plan applies exactly that. It refuses a plan \
that was edited, that is of another controller, or in which an id now belongs to another token (exit code \
2); tokens that are gone are listed.

--organization and --team mean the members and administrators at the time of the plan, through their own roles (see tokens list). They need an account that sees all tokens and users.

Where the configuration requires a second person to approve (see tokenctl docs configuration), more tokens than one \
person may revoke need a plan that another person approved with plan approve. Both are in the audit log.`,
  exitCodes: `Exit code 5: some tokens are left, or the selection is not empty: it is listed again after the \
revocation, over the REST API as well, and new tokens and sessions are counted. Exit code 130: interrupted.`,
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
