import { boolean, string } from '@oclif/core/flags';
import { age, approvalFlags, changeFlags, csvFlag, type FlagsOf, planFlags } from '../flags/flags.ts';

const ACTS = ['extend', 'end', 'due'] as const;

const others = (name: (typeof ACTS)[number]) => [...ACTS.filter((each) => each !== name), 'all', 'csv'];

/** The flags of `tokens leases`. */
export const leaseFlags = {
  all: boolean({ summary: 'Include leases that are over.' }),
  sunset: boolean({
    summary: 'Count the ends of sunsets by weeks: how many are left, and how many are in use.',
    exclusive: [...ACTS, 'all'],
  }),
  extend: string({
    summary: 'Move the end of this lease: its id, the first characters, or the id of its token.',
    helpValue: 'ID',
    exclusive: others('extend'),
    dependsOn: ['for'],
  }),
  for: age({ summary: 'The new end (2h), counted from now.', dependsOn: ['extend'] }),
  end: string({ summary: 'Revoke the token of this lease now.', helpValue: 'ID', exclusive: others('end') }),
  due: boolean({
    summary: 'Revoke the tokens that are past the end of their lease.',
    exclusive: others('due'),
  }),
  ...csvFlag,
  ...planFlags({
    plan: {
      summary: 'Move the end of a lease as this saved plan says.',
      exclusive: ['plan-out', ...ACTS, 'for', 'all', 'csv', 'sunset'],
    },
    'plan-out': {
      summary: 'Save the extension to a new file, to be approved and applied.',
      exclusive: ['dry-run', 'yes', 'break-glass', 'end', 'due', 'all', 'sunset'],
    },
  }),
  ...changeFlags,
  ...approvalFlags,
};

export type LeaseFlags = FlagsOf<typeof leaseFlags>;
