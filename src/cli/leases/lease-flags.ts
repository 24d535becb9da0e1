import { boolean, string } from '@oclif/core/flags';
import { age, breakGlassFlag, changeFlags, csvFlag, type FlagsOf } from '../flags/flags.ts';

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
  ...changeFlags,
  ...breakGlassFlag,
};

export type LeaseFlags = FlagsOf<typeof leaseFlags>;
