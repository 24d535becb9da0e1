import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type NoteSigner, type NoteVerifier, openNote, parseVerifier, signNote } from './note-key.ts';

/** Who may approve plans for a context, and what one person may do there alone. */
export interface ApprovalRule {
  /** Whether an approved plan is needed above `aloneUpTo`, and for a lockdown of more than one user. */
  readonly required: boolean;
  /** The public keys of the approvers, by login name. */
  readonly approvers: Readonly<Record<string, string>>;
  /** The maximum number of tokens that one person may revoke alone. */
  readonly aloneUpTo: number;
  /** The maximum validity of an approval, in seconds. */
  readonly validFor: number;
  /** Whether one person may proceed without an approval, which the audit log records. */
  readonly breakGlass: boolean;
}

/** The content of an approval. Plain JSON without secrets, as stored in the audit log. */
export interface Approval {
  readonly plan: string;
  /** The approver's name in the configuration. */
  readonly by: string;
  /** The name and id of the key, as `name+id`. */
  readonly key: string;
  readonly user: string;
  readonly host: string;
  /** RFC 3339. */
  readonly at: string;
  readonly expires: string;
}

/** The parts of a saved plan that its approval depends on. */
export interface ApprovablePlan {
  readonly digest: string;
  readonly made: { readonly at: string; readonly by: Actor };
}

/** In the form of an audit log entry's actor. */
type Actor = Readonly<Record<string, string>>;

/** The first line of an approval. A checkpoint's first line is a key name, which contains no spaces. */
const HEADING = 'tokenctl plan approval v1';

/** The maximum difference between the clocks of two machines, in milliseconds. */
const CLOCK_MARGIN_MS = 300_000;

/**
 * Signs the approval of a plan, valid for this many seconds, as a signed note (https://c2sp.org/signed-note).
 * Throws `not_approved` if the key is not an approver's, or the plan is the approver's own; `usage` for a
 * longer validity than the rule allows.
 */
export function signApproval(options: {
  readonly plan: ApprovablePlan;
  readonly rule: ApprovalRule;
  readonly signer: NoteSigner;
  readonly actor: Actor;
  readonly now: Date;
  readonly validFor: number;
}): { readonly note: string; readonly approval: Approval } {
  const { plan, rule, signer, actor, now, validFor } = options;
  const { verifier } = signer;
  const by = approverOf(verifier, rule);
  if (validFor > rule.validFor) {
    throw new TokenctlError('usage', `An approval is valid for at most ${rule.validFor} seconds here`, {
      hint: 'Shorten --valid-for, or change approval.validFor in the configuration.',
    });
  }
  const approval: Approval = {
    plan: plan.digest,
    by,
    key: keyText(verifier),
    user: actor['sudo_user'] ?? actor['user'] ?? '',
    host: actor['host'] ?? '',
    at: now.toISOString(),
    expires: new Date(now.getTime() + validFor * 1000).toISOString(),
  };
  requireAnother(approval, { who: plan.made.by, did: 'made' });
  return { note: signNote(textOf(approval), [signer]), approval };
}

/**
 * Verifies the approval of a plan: that an approver of the rule signed it, that it is for this plan, that the
 * approver did not create the plan, and that it has not expired. Throws `not_approved`.
 */
export function openApproval(
  note: string,
  { plan, rule, now }: { plan: ApprovablePlan; rule: ApprovalRule; now: Date },
): Approval {
  const { text, signers } = verified(note, Object.values(rule.approvers).map(parseVerifier));
  const [, digest = '', user = '', host = '', at = '', expires = ''] = FORM.exec(text) ?? [];
  const [signer] = signers;
  const [from, until] = [Date.parse(at), Date.parse(expires)];
  if (digest === '' || signer === undefined || Number.isNaN(from) || Number.isNaN(until)) {
    throw notApproved('The file is not an approval of a plan');
  }
  const approval = {
    plan: digest,
    by: approverOf(signer, rule),
    key: keyText(signer),
    user,
    host,
    at,
    expires,
  };
  if (digest !== plan.digest) {
    throw notApproved(`The approval by ${approval.by} is for another plan: ${digest.slice(0, 12)}`);
  }
  if (from > now.getTime() + CLOCK_MARGIN_MS || from < Date.parse(plan.made.at) - CLOCK_MARGIN_MS) {
    throw notApproved(`The approval by ${approval.by} has an impossible time: ${at}`);
  }
  if (until <= now.getTime() || from + rule.validFor * 1000 <= now.getTime()) {
    throw notApproved(`The approval by ${approval.by} has expired`);
  }
  requireAnother(approval, { who: plan.made.by, did: 'made' });
  return approval;
}

/**
 * Refuses an approval by the person who created the plan or is about to apply it, identified by the
 * approver's name or the signing user. Throws `not_approved`.
 */
export function requireAnother(
  { by, user }: Pick<Approval, 'by' | 'user'>,
  { who, did }: { who: Actor; did: 'made' | 'applies' },
): void {
  const { user: login, sudo_user: behind, as } = who;
  // With sudo everyone is root, which does not identify the person.
  const persons = [behind, login === 'root' && behind !== undefined ? undefined : login].map(plain);
  const same = [plain(by), plain(user)].find((name) => name !== undefined && persons.includes(name));
  if (same === undefined && plain(by) !== plain(as)) return;
  const text =
    did === 'made' ? 'You cannot approve your own plan' : 'You cannot apply a plan that you approved';
  throw notApproved(
    `${text}, ${by}${same === undefined || same === plain(by) ? '' : ` (user ${same})`}: a second person must approve`,
    did === 'made' ? 'Ask another person to approve it.' : 'Ask another person to apply it.',
  );
}

function plain(name: string | undefined): string | undefined {
  return name?.normalize('NFKC').toLowerCase();
}

/** The name of a key in the rule. */
function approverOf({ text }: NoteVerifier, { approvers }: ApprovalRule): string {
  const found = Object.entries(approvers).find(([, key]) => parseVerifier(key).text === text);
  if (found !== undefined) return found[0];
  const known = Object.keys(approvers);
  throw notApproved(
    'The key does not belong to an approver',
    known.length === 0 ? 'Add approval.approvers to the configuration.' : `Approvers: ${known.join(', ')}.`,
  );
}

function verified(note: string, verifiers: readonly NoteVerifier[]): ReturnType<typeof openNote> {
  try {
    return openNote(note, verifiers);
  } catch (cause) {
    if (!(cause instanceof TokenctlError)) throw cause;
    throw notApproved(
      cause.code === 'configuration'
        ? 'The file is not an approval of a plan'
        : 'The approval was not signed by an approver of this context, or was changed after it was signed',
      undefined,
      cause,
    );
  }
}

function textOf({ plan, user, host, at, expires }: Approval): string {
  return `${HEADING}\nplan ${plan}\nuser ${user}\nhost ${host}\nat ${at}\nexpires ${expires}\n`;
}

const FORM = new RegExp(
  `^${HEADING}\nplan ([0-9a-f]{64})\nuser (.*)\nhost (.*)\nat (\\S{20,30})\nexpires (\\S{20,30})\n$`,
);

function keyText({ name, id }: NoteVerifier): string {
  return `${name}+${id.toString('hex')}`;
}

function notApproved(
  message: string,
  hint = 'Ask an approver to run `tokenctl plan approve FILE` again.',
  cause?: unknown,
): TokenctlError {
  return new TokenctlError('not_approved', message, { hint, cause });
}
