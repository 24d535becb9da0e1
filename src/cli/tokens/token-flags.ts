import { boolean, option, string } from '@oclif/core/flags';
import {
  age,
  allContextsFlag,
  changeFlags,
  count,
  csvFlag,
  type FlagsOf,
  findingPolicyFlag,
  selectorFlags,
} from '../flags/flags.ts';

export const listFlags = {
  ...selectorFlags,
  ...findingPolicyFlag,
  'last-used': boolean({ summary: 'Show when each token was last used, also over REST (the day only).' }),
  sort: string({
    summary:
      'Sort by id, user, application, scope, created, expires, last_used or description. Add :desc to reverse the order.',
    helpValue: 'COLUMN',
  }),
  limit: count({ summary: 'List at most this many tokens.', helpValue: 'N' }),
  columns: string({
    summary: 'Show these columns in the table or CSV, separated by commas.',
    helpValue: 'NAMES',
    exclusive: ['json'],
  }),
  'count-by': option({
    options: ['user', 'organization', 'team', 'application', 'scope', 'origin'] as const,
  })({
    summary:
      'Count tokens by this field, in descending order. organization and team are those of the owner; origin tells what created the token.',
    exclusive: ['columns', 'sort', 'last-used'],
  }),
  ...csvFlag,
  ...allContextsFlag,
};

export type ListFlags = FlagsOf<typeof listFlags>;

/** The parsed flags that select by the policy. */
export type FindingFlags = Pick<ListFlags, 'finding' | 'policy'>;

/** The flags of `tokens snapshot`, and of `tokens diff` for the current side. */
export const snapshotFlags = { ...selectorFlags, ...findingPolicyFlag };

export const rotationFlags = {
  output: string({ summary: 'The new file for the new token.', helpValue: 'FILE' }),
  consumer: string({
    summary: "Rotate this consumer's token now, as its job does, and update its store.",
    helpValue: 'NAME',
    exclusive: ['output', 'grace', 'expires'],
  }),
  adopt: count({
    summary: 'Take over the token that the consumer uses now. Its next rotation revokes it.',
    helpValue: 'ID',
    dependsOn: ['consumer'],
  }),
  grace: age({ summary: 'Wait this long (10m, at most a day) before revoking the old token.' }),
  expires: age({ summary: 'How long the new token is valid (90d). Requires a database context.' }),
  ...changeFlags,
};

export type RotationFlags = FlagsOf<typeof rotationFlags>;
