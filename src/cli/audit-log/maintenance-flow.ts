import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { auditLogFile } from '../../config/configuration.ts';
import { databaseName } from '../../config/secrets.ts';
import { verifyInclusion } from '../../operations/audit-log/checkpoints.ts';
import {
  filesToPrune,
  type HeldEntries,
  heldEntries,
  pruneLog,
  rotateLog,
} from '../../operations/audit-log/rotate-log.ts';
import { type VerifiedLog, verifyLog } from '../../operations/audit-log/verify-log.ts';
import { good, type Line, type Lines, lines, list, warning } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { countText, secondText } from '../../reports/tables/text.ts';
import { textFile } from './checkpoint-flow.ts';
import type { VerificationFlags } from './log-flags.ts';

/** What `log verify` prints with `--json`. */
export interface VerificationJson extends Pick<VerifiedLog, 'entries' | 'head' | 'tornBytes'> {
  /** The last entry that retention removed. */
  readonly removed?: VerifiedLog['removed'] | undefined;
  /** With --checkpoint. */
  readonly checkpoint?: VerifiedLog['checkpoint'] | undefined;
  /** The file of the log; absent for a log in a database. */
  readonly file?: string;
  /** The database of the log; absent for a log in a file. */
  readonly database?: string;
  /** The file and the folder of the log, if members of their group may write to them. */
  readonly groupWritable?: readonly string[];
}

/** What `log verify --proof` prints with `--json`. */
export interface VerifiedProofJson {
  readonly seq: number;
  readonly origin: string;
  /** The number of entries that the checkpoint of the proof covers. */
  readonly size: number;
}

/** What `log rotate` prints with `--json`. */
export interface RotationJson {
  readonly dryRun: boolean;
  /** The file that was closed; null if there was nothing to rotate, and in a dry run. */
  readonly archive: string | null;
  /** Files that were removed, or would be in a dry run. */
  readonly removed: readonly string[];
  /** With --remove-older-than: why older entries were kept, since when and for what; null for none. */
  readonly kept?: {
    readonly since: string;
    readonly incidents: readonly string[];
    readonly leases: readonly string[];
  } | null;
}

/**
 * Verifies the configured log, and compares it with a checkpoint if one is given. A missing log at the
 * default path counts as empty: the first change creates it. An explicitly configured log must exist.
 * @throws TokenctlError `audit_unavailable` if a configured log does not exist, and as {@link verifyLog}
 */
export async function verificationFlow(
  runtime: Runtime,
  flags: VerificationFlags,
): Promise<Report<VerificationJson>> {
  const place = placeOf(runtime);
  const checkpoint =
    flags.checkpoint === undefined
      ? undefined
      : { note: textFile(flags.checkpoint, 'checkpoint'), keys: await trustedKeys(runtime, flags.key) };
  const log = await runtime.auditLog();
  const verified = await verifyLog({ log, ...(checkpoint !== undefined && { checkpoint }) });
  return verificationResult(verified, place);
}

/**
 * Verifies the proof of an entry, without the log. The entry is in the file next to it, with `.entry` added
 * to its name.
 * @throws TokenctlError `log_broken` if the proof is not for this entry, `configuration` for an invalid file
 * or key
 */
export async function proofVerificationFlow(
  runtime: Runtime,
  { proof, key }: { proof: string; key: string | undefined },
): Promise<Report<VerifiedProofJson>> {
  const line = textFile(`${proof}.entry`, 'entry').replace(/\n$/, '');
  const keys = await trustedKeys(runtime, key);
  const proved = verifyInclusion({ line, proof: textFile(proof, 'proof'), keys });
  const { seq, origin, size } = proved;
  return report({
    json: proved,
    document: [lines(`Entry ${seq} is one of the ${countText(size, 'entry', 'entries')} of ${origin}.`)],
  });
}

/** The public keys to verify a checkpoint with. */
async function trustedKeys(runtime: Runtime, key: string | undefined): Promise<readonly string[]> {
  if (key === undefined) return await (await runtime.logKeys()).verifiers();
  // A key has its id between plus signs; file names do not look like that.
  if (/^[^+]+\+[0-9a-f]{8}\+/.test(key)) return [key];
  return textFile(key, 'file of public keys')
    .split('\n')
    .filter((line) => line.trim() !== '');
}

function placeOf({ configuration: { auditLog, auditLogNamed } }: Runtime): LogPlace {
  if (auditLog.database !== undefined) return { kind: 'database', name: databaseName(auditLog.database) };
  const file = auditLogFile(auditLog);
  const groupWritable = [file, dirname(file)].filter((path) => ((modeOf(path) ?? 0) & GROUP_WRITE) !== 0);
  const isThere = modeOf(file) !== null;
  if (!isThere && auditLogNamed)
    throw new TokenctlError('audit_unavailable', `No audit log at ${file}`, {
      hint: 'Check the path in --log-file, TOKENCTL_AUDIT_LOG or auditLog.file in the configuration file.',
    });
  return { kind: 'file', name: file, exists: isThere, groupWritable };
}

/** The mode bit that allows the group to write. */
const GROUP_WRITE = 0o020;

/** The mode of the path; null if it does not exist. The log itself reports all other problems. */
function modeOf(path: string): number | null {
  try {
    return lstatSync(path).mode;
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'ENOENT' ? null : 0;
  }
}

type LogPlace =
  | {
      readonly kind: 'file';
      readonly name: string;
      /** False before the first change. */
      readonly exists: boolean;
      readonly groupWritable: readonly string[];
    }
  | { readonly kind: 'database'; readonly name: string };

function verificationResult(verified: VerifiedLog, place: LogPlace): Report<VerificationJson> {
  const { entries, head, tornBytes, removed, checkpoint } = verified;
  const groupWritable = place.kind === 'file' ? place.groupWritable : [];
  return report({
    json: {
      ...(groupWritable.length > 0 && { groupWritable }),
      ...(place.kind === 'file' ? { file: place.name } : { database: place.name }),
      entries,
      head,
      tornBytes,
      removed,
      checkpoint,
    },
    document: [
      lines(
        summaryLines(verified, place),
        groupWritable.length > 0 &&
          `Members of its group can rewrite the log. Run chmod g-w ${groupWritable.join(' ')}, or verify the log with a checkpoint.`,
        tornBytes > 0 &&
          `Ignored an incomplete last line of ${countText(tornBytes, 'byte')}, left by an interrupted write.`,
      ),
    ],
  });
}

function summaryLines({ entries, head, removed, checkpoint }: VerifiedLog, place: LogPlace): Lines {
  const name = place.kind === 'file' ? place.name : `the database ${place.name}`;
  if (place.kind === 'file' && !place.exists) return [`No audit log yet. The first change creates ${name}.`];
  if (entries === 0) return [`No entries in ${name}.`];
  const first = (removed ?? 0) + 1;
  const covered = checkpoint?.size ?? 0;
  return [
    good`Checked: each entry follows from the previous one, from entry ${first} to ${entries}, in ${name}.`,
    removed !== undefined && `Entries 1 to ${removed} were removed by log retention, as the log records.`,
    checkpoint !== undefined &&
      good`Checked: entries 1 to ${covered} match the checkpoint of ${checkpoint.origin}.`,
    notChecked(entries, checkpoint === undefined ? null : covered),
    `Head: ${head.hash}`,
  ];
}

/** What the hashes of a log cannot show, and the command that can. */
function notChecked(entries: number, covered: number | null): Lines {
  return [
    unprovedText(entries, covered),
    ...(covered === null
      ? [
          'To check this, provide a checkpoint that was stored somewhere else: tokenctl log verify --checkpoint FILE --key KEY',
        ]
      : []),
  ];
}

/** What the hashes of a log cannot show, if a checkpoint covers these entries; null for no checkpoint. */
export function unprovedText(entries: number, covered: number | null): Line {
  if (covered === null)
    return warning`Not checked: whether entries are missing at the end, or all entries were rewritten.`;
  return covered === entries
    ? warning`Not checked: whether entries after the checkpoint are missing.`
    : warning`Not checked: whether entries ${covered + 1} to ${entries} were rewritten, or later entries are missing. Use a newer checkpoint to check this.`;
}

/**
 * Closes the file of the log and continues in a new one. Then removes closed files that are older than an
 * age.
 * @param flags `remove-older-than` in milliseconds. Nothing is removed without it.
 * @throws TokenctlError as the operations
 */
export async function rotationFlow(
  runtime: Runtime,
  flags: { readonly 'remove-older-than'?: number | undefined; readonly 'dry-run'?: boolean | undefined },
): Promise<Report<RotationJson>> {
  const { 'remove-older-than': age, 'dry-run': dryRun = false } = flags;
  const options = { log: await runtime.auditLog(), actor: runtime.operator };
  const before = new Date(runtime.clock.now().getTime() - (age ?? 0));
  const rotation = dryRun ? null : await rotateLog(options);
  const prune = async () =>
    dryRun
      ? await filesToPrune({ ...options, before })
      : ((await pruneLog({ ...options, before }))?.files ?? []);
  const removed = age === undefined ? [] : await prune();
  const held = age === undefined ? null : await heldEntries(options.log, before);
  const closed = rotation?.archive ?? null;
  const isEmpty = dryRun ? (await options.log.head()).size === 0 : closed === null;
  const files = countText(removed.length, 'file');
  return report({
    json: {
      dryRun,
      archive: closed,
      removed,
      ...(age !== undefined && {
        kept: held && {
          since: held.since,
          incidents: held.incidents.map(({ id }) => id),
          leases: held.leases.map(({ id }) => id),
        },
      }),
    },
    document: [
      lines(
        isEmpty
          ? 'Nothing to rotate: the audit log has no entries.'
          : (closed !== null && `Closed ${closed}.`) || 'Would close the current file.',
        age !== undefined && [dryRun ? `Would remove ${files}.` : `Removed ${files}.`, ...removed],
        held !== null && heldLines(held),
        dryRun && 'Dry run. Nothing was changed.',
      ),
    ],
  });
}

/** Why older entries are kept, and what ends that. */
function heldLines({ since, incidents, leases }: HeldEntries): Lines {
  return [
    warning`Kept all entries since ${secondText(since)} because the following need them:`,
    ...list(
      ...incidents.map(({ id, stays }) => {
        const names = stays.map(({ what, name }) => (what === 'user' ? name : `the role ${name}`));
        return stays.length === 0
          ? `${id}: still open.`
          : `${id}: its lift did not restore ${names.join(', ')}. A later lift requires these entries.`;
      }),
      ...leases.map(({ id }) => `${id}: still open, and the entries contain its end time.`),
    ),
  ];
}
