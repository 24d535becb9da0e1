import { boolean, string } from '@oclif/core/flags';
import {
  age,
  breakGlassFlag,
  changeFlags,
  count,
  type FlagsOf,
  findingPolicyFlag,
  selectorFlags,
} from '../flags/flags.ts';

/** The flags of `tokens sunset`. */
export const sunsetFlags = {
  ...selectorFlags,
  ...findingPolicyFlag,
  over: age({ summary: 'Spread the ends over this time; 60d by default.' }),
  notice: age({ summary: 'The first ends are not before this time; 7d by default.' }),
  'per-day': count({ summary: 'End at most this many tokens a day; 500 by default.', helpValue: 'N' }),
  'max-lifetime': age({ summary: 'Give tokens an end as well that live longer than this (365d).' }),
  weekends: boolean({ summary: 'End tokens on Saturdays and Sundays as well.' }),
  undo: string({
    summary: 'Undo the ends of this sunset that are still ahead; with --user, those of that user.',
    helpValue: 'SUNSET',
    exclusive: [
      ...Object.keys({ ...selectorFlags, ...findingPolicyFlag }).filter((name) => name !== 'user'),
      ...['over', 'notice', 'per-day', 'max-lifetime', 'weekends'],
    ],
  }),
  ...changeFlags,
  ...breakGlassFlag,
};

export type SunsetFlags = FlagsOf<typeof sunsetFlags>;
