import { defineCommand } from '../../src/cli/base-command.ts';
import type { ContextRun } from '../../src/cli/multi-context/multi-context-flow.ts';
import { leakedFlags } from '../../src/cli/revocation/revocation-flags.ts';

export default defineCommand({
  summary: 'Find and revoke leaked tokens',
  description: `Reads a file, or standard input for -, and searches its lines for token values. Values may \
be surrounded by any text, follow color codes and escapes, or be encoded in base64, hexadecimal digits or \
lists of bytes. Recognizes reports from gitleaks (JSON, SARIF), TruffleHog (--json), GitHub secret scanning \
(alerts of the REST API) and others, and lists each token with the file, line and commit from the report. \
Masked and hashed secrets are counted as not checked. Over a database connection, values are found by their \
hash. Over REST, each value that looks like a controller token (30 letters and digits) is sent to the \
controller. Other values, which may be secrets of other systems, are only counted. The controller cannot \
check refresh tokens. On controller 24.6.1, this leaves no trace and is enough if the owner has only one \
token. To distinguish several tokens of one owner, one more request updates the last use of the token. The \
previous last uses are read first (unknown if the owner has more than 200 tokens), and the audit log records \
the times before and after. Later runs therefore need no further request, and incident timeline does not \
attribute the use to the owner. A dry run does not send that request. It lists the tokens that may match the \
value. Values are never printed, stored or logged, and are sent only to the target. Tokens are identified by \
ID, owner and fingerprint.`,
  exitCodes:
    'Exit code 5: with --revoke, a live token remains; or the input contains hidden secrets, which were not checked.',
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
