import { verificationFlags } from '../../src/cli/audit-log/log-flags.ts';
import type { VerificationJson, VerifiedProofJson } from '../../src/cli/audit-log/maintenance-flow.ts';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { Result } from '../../src/reports/result.ts';

export default class LogVerify extends TokenctlCommand {
  static override summary = 'Verify the hashes of the audit log';

  static override description =
    `Reads the whole log and checks that each entry has the hash of the entry before, so that edited, removed, \
inserted and reordered entries are found. The hashes cannot show that the end was cut off, that the last entry \
was edited, or that the whole log was rewritten: for this, give an earlier checkpoint that was kept in another \
place.

With --proof, verifies the proof of one entry instead, without the log: FILE is what log prove --output wrote, and \
FILE.entry has the entry.

With --json, prints what docs/schemas/log-verify.json describes.

Exits with 6 if the log is broken, or if a proof is not of its entry (error.details has the line and the problem), or if a log that is set by a flag, \
a variable or the configuration file does not exist.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --log-file ./audit.jsonl --json',
    '<%= config.bin %> <%= command.id %> --proof entry-17.proof --key example.org/audit+7fbb5ae1+ASVI…',
    '<%= config.bin %> <%= command.id %> --checkpoint audit.checkpoint --key example.org/audit+7fbb5ae1+ASVI…',
  ];

  static override flags = verificationFlags;

  async run(): Promise<Result<VerificationJson | VerifiedProofJson>> {
    const { flags } = await this.input(LogVerify);
    const runtime = await this.runtime(flags);
    const { proofVerificationFlow, verificationFlow } = await import(
      '../../src/cli/audit-log/maintenance-flow.ts'
    );
    const { proof, key } = flags;
    if (proof !== undefined) return await proofVerificationFlow(runtime, { proof, key });
    return await verificationFlow(runtime, flags);
  }
}
