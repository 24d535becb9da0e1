import { boolean, string } from '@oclif/core/flags';
import { accountFlags, changeFlags, count, type FlagsOf, moment } from '../flags/flags.ts';

const SEVERAL = { multiple: true, multipleNonGreedy: true } as const;

export const investigateFlags = {
  user: string({
    summary: 'Investigate this user, which may be deleted.',
    helpValue: 'NAME',
    exclusive: ['token', 'application'],
  }),
  token: count({
    summary: 'Investigate the owner of this access token since it was created. The token may be deleted.',
    helpValue: 'NUMBER',
    exclusive: ['application'],
  }),
  application: string({
    summary: 'Investigate the users who have tokens of this application.',
    helpValue: 'NAME',
  }),
  incident: string({
    summary: 'The related incident, by ID. Selects its user or application.',
    helpValue: 'ID',
  }),
  since: moment({
    summary:
      'Start at this date, or this long ago (7d). Default: 30 days ago, or when the token or application was created.',
  }),
  until: moment({ summary: 'End at this date, or this long ago. Default: now.' }),
  out: string({
    summary: 'Save the investigation to this new file with mode 0600, for incident clean --from.',
    helpValue: 'FILE',
  }),
  all: boolean({
    summary:
      'Also list items that were removed or undone, changes without risk, and more than 20 items of each kind.',
  }),
};

export const cleanFlags = {
  from: string({
    summary: 'Clean the items in this saved investigation (incident investigate --out).',
    helpValue: 'FILE',
  }),
  undo: string({
    summary: 'Undo the cleanup of this run, except for what has changed since.',
    helpValue: 'RUN',
    exclusive: ['from', 'incident', 'since', 'rule', 'irreversible'],
  }),
  incident: string({
    summary: 'The related incident. Without --from, its user or application is investigated.',
    helpValue: 'ID',
  }),
  since: moment({
    summary:
      "The start of the incident: a date, or how long ago. Nothing from before that is cleaned. Default: the start used by the investigation, or the date in the incident's reason.",
  }),
  irreversible: boolean({
    summary: 'With --yes, also do what cannot be undone. Otherwise, a second prompt asks about it.',
  }),
  item: string({ ...SEVERAL, summary: 'Clean only this item, by its ID.', helpValue: 'ID' }),
  rule: string({ ...SEVERAL, summary: 'Clean only items with this finding.', helpValue: 'RULE' }),
  'rest-context': string({
    summary: 'With a database context: the REST context for actions that require the REST API.',
    helpValue: 'NAME',
  }),
  ...changeFlags,
};

export const markFlags = {
  item: string({
    ...SEVERAL,
    summary: 'The item ID, shown in brackets in an investigation.',
    helpValue: 'ID',
    required: true,
  }),
  'by-hand': boolean({
    summary: 'Mark the items as resolved manually instead. The next investigation checks this.',
    exclusive: ['handed-over'],
  }),
  'handed-over': boolean({
    summary: 'Mark the items as reassigned to someone else instead. Requires --to and --reason.',
  }),
  to: string({
    summary: 'The person or team that decides about reassigned items.',
    helpValue: 'NAME',
    dependsOn: ['handed-over'],
    exclusive: ['undo'],
  }),
  undo: boolean({ summary: 'Remove the mark.' }),
  ...accountFlags,
};

export type MarkFlags = FlagsOf<typeof markFlags>;
