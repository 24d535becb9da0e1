import { boolean, string } from '@oclif/core/flags';
import { age, approvalFlags, changeFlags, csvFlag, type FlagsOf, planFlags } from '../flags/flags.ts';

const ACTS = ['extend', 'end', 'due'] as const;

const others = (name: (typeof ACTS)[number]) => [...ACTS.filter((each) => each !== name), 'all', 'csv'];

export const leaseFlags = {
  all: boolean({ summary: 'Include past leases.' }),
  sunset: boolean({
    summary: 'Show the remaining sunset end dates by week, and how many of the tokens are in use.',
    exclusive: [...ACTS, 'all'],
  }),
  extend: string({
    summary: 'Change the end of this lease: its ID, the first characters, or its token ID.',
    helpValue: 'ID',
    exclusive: others('extend'),
    dependsOn: ['for'],
  }),
  for: age({ summary: 'The new end (2h), counted from now.', dependsOn: ['extend'] }),
  end: string({ summary: "Revoke this lease's token now.", helpValue: 'ID', exclusive: others('end') }),
  due: boolean({ summary: 'Revoke tokens past the end of their lease.', exclusive: others('due') }),
  ...csvFlag,
  ...planFlags({
    plan: {
      summary: 'Extend a lease as described in this saved plan.',
      exclusive: ['plan-out', ...ACTS, 'for', 'all', 'csv', 'sunset'],
    },
    'plan-out': {
      summary: 'Save the plan of the extension to a new file.',
      exclusive: ['dry-run', 'yes', 'break-glass', 'end', 'due', 'all', 'sunset'],
    },
  }),
  ...changeFlags,
  ...approvalFlags,
};

export type LeaseFlags = FlagsOf<typeof leaseFlags>;
