import { verificationFlags } from '../../src/cli/audit-log/log-flags.ts';
import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Verify the hashes of the audit log',
  description: `Reads the whole log and checks that each entry contains the hash of the previous entry. This \
detects edited, removed, inserted and reordered entries. Hashes alone cannot show that the end was cut off, \
that the last entry was edited, or that the whole log was rewritten. To detect this, provide an earlier \
checkpoint that was stored somewhere else.

With --proof, verifies the proof of one entry instead, without the log. FILE is the output of log prove \
--output, and FILE.entry contains the entry.`,
  exitCodes: `Exits with 6 if the log is broken, if a proof does not match its entry (error.details has the \
line and the problem), or if a log named by a flag, a variable or the configuration file does not exist.`,
  examples: [
    '',
    '--log-file ./audit.jsonl --json',
    '--proof entry-17.proof --key example.org/audit+7fbb5ae1+ASVI…',
    '--checkpoint audit.checkpoint --key example.org/audit+7fbb5ae1+ASVI…',
  ],
  flags: verificationFlags,
  async run({ flags }) {
    const runtime = await this.runtime(flags);
    const { proofVerificationFlow, verificationFlow } = await import(
      '../../src/cli/audit-log/maintenance-flow.ts'
    );
    const { proof, key } = flags;
    if (proof !== undefined) return await proofVerificationFlow(runtime, { proof, key });
    return await verificationFlow(runtime, flags);
  },
});
