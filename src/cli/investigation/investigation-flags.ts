import { boolean, string } from '@oclif/core/flags';
import { accountFlags, changeFlags, type FlagsOf, moment } from '../flags.ts';

const SEVERAL = { multiple: true, multipleNonGreedy: true } as const;

/** The flags of `incident clean`. */
export const cleanFlags = {
  from: string({
    summary: 'Clean what this investigation lists (incident investigate --out).',
    helpValue: 'FILE',
  }),
  undo: string({
    summary: 'Undo the cleaning of this run, where nothing was changed since.',
    helpValue: 'RUN',
    exclusive: ['from', 'incident', 'since', 'rule', 'irreversible'],
  }),
  incident: string({
    summary: 'The incident that it belongs to; without --from, its user or application is investigated.',
    helpValue: 'ID',
  }),
  since: moment({
    summary:
      'When the theft began: a date, or this long ago. Nothing from before is cleaned. Default: as the investigation was asked, or the date in the reason of the incident.',
  }),
  irreversible: boolean({
    summary: 'With --yes: also do what cannot be undone. Otherwise a second question asks for that.',
  }),
  item: string({ ...SEVERAL, summary: 'Clean this item only, by its id.', helpValue: 'ID' }),
  rule: string({ ...SEVERAL, summary: 'Clean only items with this finding.', helpValue: 'RULE' }),
  'rest-context': string({
    summary: 'Beside a database context: the REST context for what takes the REST API.',
    helpValue: 'NAME',
  }),
  ...changeFlags,
};

/** The flags of `incident mark`. */
export const markFlags = {
  item: string({
    ...SEVERAL,
    summary: 'An item, by the id that an investigation has in brackets.',
    helpValue: 'ID',
    required: true,
  }),
  undo: boolean({ summary: 'Take the mark back.' }),
  ...accountFlags,
};

export type MarkFlags = FlagsOf<typeof markFlags>;
