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

export const sunsetFlags = {
  ...selectorFlags,
  ...findingPolicyFlag,
  over: age({ summary: 'Spread the end dates over this time. Default: 60d.' }),
  notice: age({ summary: 'The earliest end date. Default: 7d from now.' }),
  'per-day': count({ summary: 'End at most this many tokens per day. Default: 500.', helpValue: 'N' }),
  'max-lifetime': age({ summary: 'Also set an end date for tokens that live longer than this (365d).' }),
  weekends: boolean({ summary: 'Also end tokens on Saturdays and Sundays.' }),
  undo: string({
    summary:
      "Undo this sunset's end dates that are still in the future. With --user, undo only those of that user.",
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
