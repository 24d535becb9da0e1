import { defineCommand } from '../../src/cli/base-command.ts';
import type { ContextRun } from '../../src/cli/multi-context/multi-context-flow.ts';
import { leakedFlags } from '../../src/cli/revocation/revocation-flags.ts';

export default defineCommand({
  summary: 'Find and revoke leaked tokens',
  description: `Reads a file, or standard input for -, and looks for token values in its lines, with any text around \
them, also behind colors and escapes, and in base64, hexadecimal digits and lists of bytes. Reports of gitleaks (JSON, SARIF), TruffleHog \
(--json), GitHub secret scanning (alerts of the REST API) and others are recognized, and each token is \
listed with the file, line and commit of the report. Masked and hashed secrets are counted as not \
checked. Over a database connection, values are found by their hash. Over REST, each value that has the \
form of the controller's tokens (30 letters and digits) is sent to it; values of other forms, which may be \
secrets of other systems, are only counted. The controller cannot check refresh tokens. On controller 24.6.1 \
that leaves no trace, and is enough for the only token of its owner. To tell several tokens of one owner \
apart, one request sets the last use: the last uses before are read first (unknown if the owner has more \
than 200 tokens), and the audit log records the use, before and after. So a later run needs no other, and \
incident timeline does not take it for the owner's. A dry run does not send that request, and lists the \
tokens that the value may be. Values are never printed, stored or logged, and are sent only to the target. \
Tokens are identified by id, owner and fingerprint.`,
  exitCodes:
    'Exit code 5: with --revoke, a live token is left; or the input hides secrets, which were not checked.',
  examples: [
    'git log -p | <%= config.bin %> <%= command.id %> --leaked -',
    'gitleaks git --report-format json --report-path - | <%= config.bin %> <%= command.id %> --leaked - --revoke',
    '--leaked scan.txt --revoke --reason "pushed to a public repository"',
  ],
  flags: leakedFlags,
  async run({ flags }) {
    const { requireOneContext } = await import('../../src/cli/multi-context/multi-context-flow.ts');
    const { leakedFlow, leakedReport, leakedSource } = await import('../../src/cli/incident/leaked-flow.ts');
    const input = leakedSource(flags.leaked);
    if (flags.revoke !== true && flags['plan-out'] === undefined) {
      return await this.inContexts(flags, ({ runtime }) => leakedReport({ runtime, input, flags }));
    }
    const plan = (member: ContextRun) => {
      if (flags['plan-out'] !== undefined) requireOneContext(member, '--plan-out');
      return leakedFlow({ ...member, input, flags });
    };
    return await this.changeInContexts(flags, plan, { inputIsData: flags.leaked === '-' });
  },
});
