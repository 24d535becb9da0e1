import { boolean, option, string } from '@oclif/core/flags';
import { providers } from '../../domain/incident/incident.ts';
import {
  accountFlags,
  age,
  allContextsFlag,
  approvalFlags,
  changeFlags,
  count,
  dryRunFlag,
  type FlagsOf,
  inGroup,
  localFlags,
  moment,
  planFlags,
  replaceFlag,
} from '../flags/flags.ts';
import { formOf, guardFields } from '../flags/form.ts';
import { rescueFlag } from '../settings/settings-flags.ts';

/** The runbooks of this version, in `docs/runbooks/`. */
export const runbooks = [
  'stolen-token',
  'leaving-employee',
  'compromised-identity-provider',
  'leaked-repository',
  'controller-down',
] as const;

const SEVERAL = { multiple: true, multipleNonGreedy: true, helpGroup: 'SELECTION' } as const;

const SCOPES = ['user', 'application', 'identity-provider', 'all'];
const MEASURES = [
  'deactivate',
  'keep-active',
  'basic-auth-off',
  'external-tokens-off',
  'shorten-lifetimes',
  'for',
];

export const lockdownFlags = {
  ...inGroup('SELECTION', {
    user: string({ ...SEVERAL, summary: 'Lock out this user.', helpValue: 'NAME' }),
    token: count({
      summary: 'Lock out the owner of the access token with this ID, even if the user was renamed.',
      helpValue: 'NUMBER',
      exclusive: ['application', 'identity-provider', 'all', 'plan', 'all-contexts'],
    }),
    application: string({ ...SEVERAL, summary: 'Revoke the tokens of this application.', helpValue: 'NAME' }),
    'identity-provider': option({ options: providers })({
      summary:
        'Lock out users of an identity provider: ldap, social (SAML, OpenID Connect, GitHub), enterprise or any.',
    }),
    all: boolean({ summary: 'Lock out all users.' }),
  }),
  deactivate: boolean({ summary: 'Deactivate the users.', helpGroup: 'MEASURES' }),
  'keep-active': string({
    ...SEVERAL,
    helpGroup: 'MEASURES',
    summary: 'Do not deactivate this user.',
    helpValue: 'NAME',
  }),
  ...localFlags,
  ...inGroup('MEASURES', {
    'basic-auth-off': boolean({ summary: 'Turn basic authentication off.', allowNo: true }),
    'external-tokens-off': boolean({ summary: 'Stop external users from creating tokens.', allowNo: true }),
    'shorten-lifetimes': boolean({
      summary: 'Shorten the lifetimes of new tokens to one hour.',
      allowNo: true,
    }),
    for: age({
      summary: 'End the lockdown after this time; the job incident-lift or incident lift --due lifts it.',
    }),
  }),
  ...planFlags({
    plan: { summary: 'Apply this saved plan instead.', exclusive: ['plan-out', ...SCOPES, ...MEASURES] },
    'plan-out': {
      summary: 'Save the lockdown plan to a new file without changing anything.',
      exclusive: ['dry-run', 'yes', 'break-glass', 'rescue-token'],
    },
  }),
  ...rescueFlag,
  ...changeFlags,
  ...approvalFlags,
  ...allContextsFlag,
};

export type LockdownFlags = FlagsOf<typeof lockdownFlags>;

/** The console's form of `incident lockdown`, with the selections that allow each measure. */
export const lockdownForm = formOf(lockdownFlags, {
  user: {},
  token: {},
  application: {},
  'identity-provider': {},
  all: {},
  deactivate: { label: 'Deactivate the users', scopes: ['user', 'identity-provider', 'all'] },
  'reset-password': { label: 'Reset the passwords', scopes: ['user'] },
  'strip-roles': { label: 'Remove their roles; lifting restores them', scopes: ['user'] },
  'end-applications': {
    label: 'Replace the secrets of their applications, or delete the applications',
    scopes: ['user', 'application'],
  },
  'keep-active': {},
  'basic-auth-off': { label: 'Turn basic authentication off', onFor: ['identity-provider', 'all'] },
  'external-tokens-off': {
    label: 'Stop external users from creating tokens',
    onFor: ['identity-provider', 'all'],
  },
  'shorten-lifetimes': { label: 'Shorten the lifetimes of new tokens to one hour', onFor: ['all'] },
  'rescue-token': {},
  ...guardFields,
});

/** The flag that selects each kind of scope. */
export const scopeFlags = {
  users: 'user',
  applications: 'application',
  identity_provider: 'identity-provider',
  all: 'all',
} as const;

export const liftFlags = {
  due: boolean({ summary: 'Lift every incident past its end time (--for).' }),
  'accept-sessions': boolean({
    summary: 'With --yes, activate users even though sessions from before are then accepted again.',
  }),
  'keep-deactivated': boolean({
    summary: "Restore only settings, not the users' access. --no-keep-deactivated restores the access later.",
    allowNo: true,
  }),
  ...changeFlags,
  ...allContextsFlag,
};

export type LiftFlags = FlagsOf<typeof liftFlags>;

export const extendFlags = {
  for: age({ summary: 'End the lockdown this long from now.', exactlyOne: ['for', 'unlimited'] }),
  unlimited: boolean({ summary: 'Keep the lockdown until it is lifted manually.' }),
  ...dryRunFlag,
  ...accountFlags,
  ...allContextsFlag,
};

export type ExtendFlags = FlagsOf<typeof extendFlags>;

export const runbookFlags = {
  incident: string({ summary: 'Fill in this incident, by its ID or its first characters.', helpValue: 'ID' }),
  user: string({ summary: 'Fill in this user.', helpValue: 'NAME' }),
  application: string({ summary: 'Fill in this application.', helpValue: 'NAME' }),
  reason: string({ summary: 'Fill in this reason.', helpValue: 'TEXT' }),
  ticket: string({ summary: 'Fill in this ticket.', helpValue: 'ID' }),
  since: moment({ summary: 'Fill in this start of the incident: a date, or how long ago (2h).' }),
};

export const stepFlags = {
  runbook: option({ options: runbooks, required: true })({
    summary: 'The runbook name, as listed by incident runbook.',
  }),
  step: count({ summary: 'The step number.', helpValue: 'N', required: true }),
  undo: boolean({ summary: 'Undo it.' }),
  ...accountFlags,
};

export type StepFlags = FlagsOf<typeof stepFlags>;

export const incidentReportFlags = {
  from: string({
    summary: 'A saved investigation of this incident (repeatable).',
    helpValue: 'FILE',
    multiple: true,
    multipleNonGreedy: true,
  }),
  since: moment({
    summary:
      "The start of the incident. Earlier actions are reported as the owner's work. Default: the start used by the last cleanup.",
  }),
  format: option({ options: ['markdown', 'html', 'svg'] as const })({
    summary: 'The format. svg contains only the picture. Default: markdown.',
    exclusive: ['json'],
  }),
  output: string({ summary: 'Write the report to this new file with mode 0600.', helpValue: 'FILE' }),
  ...replaceFlag,
};

export const timelineFlags = {
  user: string({ summary: 'Show this user.', helpValue: 'NAME', exactlyOne: ['user', 'token'] }),
  token: count({ summary: 'Show the access token with this ID, which may be deleted.', helpValue: 'NUMBER' }),
  since: moment({ summary: 'Start at this date, or this long ago (7d). Default: one day ago.' }),
  until: moment({ summary: 'End at this date, or this long ago. Default: now.' }),
  format: option({ options: ['text', 'markdown', 'html'] as const })({
    summary: 'The output format. Default: text.',
    exclusive: ['json'],
  }),
  ...allContextsFlag,
};
