import { string } from '@oclif/core/flags';
import type { VerificationJson, VerifiedProofJson } from '../../src/cli/audit-log/maintenance-flow.ts';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Verifies the audit log. */
export default class LogVerify extends TokenctlCommand {
  static override summary = 'Verify that the audit log is intact';

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

  static override flags = {
    checkpoint: string({
      summary: 'An earlier checkpoint that the log must match.',
      helpValue: 'FILE',
    }),
    proof: string({
      summary: 'Verify the proof of an entry, not the log.',
      helpValue: 'FILE',
      exclusive: ['checkpoint'],
    }),
    key: string({
      summary: 'The trusted public key, or a file of keys. Default: the keys of log init.',
      helpValue: 'KEY|FILE',
      relationships: [{ type: 'some', flags: ['checkpoint', 'proof'] }],
    }),
  };

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
