import { boolean, string } from '@oclif/core/flags';
import { accountFlags, changeFlags, count, type FlagsOf, moment } from '../flags/flags.ts';

const SEVERAL = { multiple: true, multipleNonGreedy: true } as const;

/** The flags of `incident investigate`. */
export const investigateFlags = {
  user: string({
    summary: 'Investigate this user; it may be deleted.',
    helpValue: 'NAME',
    exclusive: ['token', 'application'],
  }),
  token: count({
    summary: 'Investigate the owner of this access token, from its creation; it may be deleted.',
    helpValue: 'NUMBER',
    exclusive: ['application'],
  }),
  application: string({
    summary: 'Investigate the users who have tokens of this application.',
    helpValue: 'NAME',
  }),
  incident: string({
    summary: 'The incident that it belongs to, by id; selects its user or application.',
    helpValue: 'ID',
  }),
  since: moment({
    summary:
      'Start at this date, or this long ago (7d). Default: 30 days ago, or the creation of the token or application.',
  }),
  until: moment({ summary: 'End at this date, or this long ago. Default: now.' }),
  out: string({
    summary: 'Save the investigation to this new file with mode 0600, for incident clean --from.',
    helpValue: 'FILE',
  }),
  all: boolean({
    summary: 'Also list what is gone or undone, changes that are no risk, and more than 20 items of a kind.',
  }),
};

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
  'by-hand': boolean({
    summary: 'Say instead that they were resolved manually. The next investigation reads whether it is so.',
    exclusive: ['handed-over'],
  }),
  'handed-over': boolean({
    summary: 'Say instead that someone else decides about them. Needs --to and --reason.',
  }),
  to: string({
    summary: 'Who decides about what is reassigned: a person or a team.',
    helpValue: 'NAME',
    dependsOn: ['handed-over'],
    exclusive: ['undo'],
  }),
  undo: boolean({ summary: 'Take the mark back.' }),
  ...accountFlags,
};

export type MarkFlags = FlagsOf<typeof markFlags>;
