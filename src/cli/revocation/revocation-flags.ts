import { boolean, string } from '@oclif/core/flags';
import type { Selection } from '../../domain/selector.ts';
import {
  age,
  allContextsFlag,
  approvalFlags,
  breakGlassFlag,
  changeFlags,
  count,
  type FlagsOf,
  findingPolicyFlag,
  inGroup,
  planFlags,
  selectionFrom,
  selectionOrAllFrom,
  selectorFlags,
} from '../flags/flags.ts';
import { formOf, guardFields } from '../flags/form.ts';

export const revokeFlags = {
  ...selectorFlags,
  all: boolean({ summary: 'Select all tokens.', helpGroup: 'SELECTION' }),
  ...findingPolicyFlag,
  ...planFlags({
    plan: {
      summary: 'Apply this saved plan instead of selecting tokens.',
      exclusive: [
        'plan-out',
        'all',
        'policy',
        'include-own',
        'access-only',
        'with-sessions',
        ...Object.keys(selectorFlags),
      ],
    },
    'plan-out': {
      summary: 'Save the plan to a new file without changing anything.',
      exclusive: ['dry-run', 'yes', 'with-sessions', 'break-glass'],
    },
  }),
  ...inGroup('CHANGE', {
    'at-most': count({ summary: 'Refuse to revoke more than this many tokens.', helpValue: 'N' }),
    'include-own': boolean({ summary: 'Also revoke the token that this command uses, as the last one.' }),
    'access-only': boolean({ summary: 'Revoke only access tokens, like the original management command.' }),
    'with-sessions': boolean({ summary: "Also end the users' sessions. Requires a database context." }),
  }),
  ...changeFlags,
  ...approvalFlags,
  ...allContextsFlag,
};

export type RevocationFlags = FlagsOf<typeof revokeFlags>;

export const revokeForm = formOf(revokeFlags, {
  'with-sessions': { label: "Also end the users' sessions" },
  'access-only': { label: 'Keep refresh tokens valid' },
  'include-own': {},
  ...guardFields,
});

/** The tokens that the flags select. `--finding` needs no other flag. Throws `usage`. */
export function revocationSelection(flags: RevocationFlags, now: Date): Selection {
  return flags.finding === undefined ? selectionFrom(flags, now) : selectionOrAllFrom(flags, now);
}

export const leakedFlags = {
  leaked: string({
    summary: 'The file or scanner report to search, or - for standard input.',
    helpValue: 'FILE',
    required: true,
  }),
  ...inGroup('CHANGE', {
    revoke: boolean({ summary: 'Revoke the live tokens that are found.' }),
    'plan-out': string({
      summary: 'Save the revocation plan to a new file for tokens revoke --plan, without revoking anything.',
      exclusive: ['revoke', 'dry-run', 'yes'],
      helpValue: 'FILE',
    }),
    'require-approval': boolean({
      summary: "Require a second person's approval for the plan.",
      dependsOn: ['plan-out'],
    }),
    'include-own': boolean({
      summary: 'Also revoke the token that this command uses, as the last one.',
      relationships: [{ type: 'some', flags: ['revoke', 'plan-out'] }],
    }),
  }),
  ...changeFlags,
  ...allContextsFlag,
};

export type LeakedFlags = FlagsOf<typeof leakedFlags>;

export const sessionExpiryFlags = {
  ...inGroup('SELECTION', {
    user: string({
      multiple: true,
      multipleNonGreedy: true,
      summary: "End this user's sessions.",
      helpValue: 'NAME',
      exclusive: ['all'],
    }),
    all: boolean({ summary: 'End all sessions.' }),
  }),
  ...changeFlags,
  ...breakGlassFlag,
  ...allContextsFlag,
};

export type SessionExpiryFlags = FlagsOf<typeof sessionExpiryFlags>;

export const cleanupFlags = {
  'keep-revoked-for': age({ summary: 'Keep refresh tokens revoked within this time. Default: 30d.' }),
  limit: count({ summary: 'The maximum number of rows to delete.', helpValue: 'N' }),
  ...changeFlags,
  ...allContextsFlag,
};

export type CleanupFlags = FlagsOf<typeof cleanupFlags>;

export const approveFlags = {
  'key-file': string({
    summary: 'The file with your private key, with mode 0600. Default: approval.key in the configuration.',
    helpValue: 'FILE',
  }),
  'valid-for': age({ summary: 'How long the approval is valid. Default: the longest time allowed.' }),
  output: string({
    summary: 'The approval file. Default: the name of the plan file plus .approval.',
    helpValue: 'FILE',
  }),
  ...changeFlags,
};

export type ApproveFlags = FlagsOf<typeof approveFlags>;
