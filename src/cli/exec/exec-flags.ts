import { option, string } from '@oclif/core/flags';
import { accountFlags, age, dryRunFlag, type FlagsOf } from '../flags/flags.ts';

/** The flags of `exec`. */
export const execFlags = {
  scope: option({ options: ['read', 'write'] as const })({
    summary: 'The scope of the token. Default: write, which includes read.',
  }),
  for: age({ summary: 'Revoke the token after this time (30m), also while the program runs. Default: 1h.' }),
  user: string({
    summary: 'The user of the token, over a database. Over REST, it is always you.',
    helpValue: 'NAME',
  }),
  env: string({
    summary: 'Give the program the token in this variable, too.',
    helpValue: 'NAME',
    multiple: true,
    multipleNonGreedy: true,
  }),
  ...dryRunFlag,
  ...accountFlags,
};

export type ExecFlags = FlagsOf<typeof execFlags>;
