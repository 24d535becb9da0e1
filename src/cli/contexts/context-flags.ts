import { boolean, option, string } from '@oclif/core/flags';
import { accountFlags, changeFlags, type FlagsOf, inGroup } from '../flags/flags.ts';

/** The location of a new context's credential, which is never itself an argument. */
const credentialFlags = inGroup('CREDENTIAL', {
  'token-file': string({
    summary: 'Read the token from this file. Only you may have access to it.',
    helpValue: 'FILE',
  }),
  'password-file': string({
    summary: 'Read the password from this file. Only you may have access to it.',
    helpValue: 'FILE',
  }),
  'token-env': string({ summary: 'Read the token from this environment variable.', helpValue: 'NAME' }),
  'password-env': string({ summary: 'Read the password from this environment variable.', helpValue: 'NAME' }),
  'token-stdin': boolean({ summary: 'Read the token from stdin and store it in a file.' }),
  'password-stdin': boolean({ summary: 'Read the password from stdin and store it in a file.' }),
});

export type CredentialFlags = FlagsOf<typeof credentialFlags>;

/** The database of a new context. A URL with a password is never an argument. */
const databaseFlags = inGroup('DATABASE', {
  database: string({
    summary: "The controller's database: a postgres:// URL without a password, or service=NAME.",
    exclusive: ['database-file', 'database-env'],
    helpValue: 'URL',
  }),
  'database-file': string({
    summary: 'A file with the URL, which may contain a password. Only you may have access to it.',
    exclusive: ['database-env'],
    helpValue: 'FILE',
  }),
  'database-env': string({ summary: 'An environment variable with the URL.', helpValue: 'NAME' }),
});

export type DatabaseFlags = FlagsOf<typeof databaseFlags>;

/** How the connection to a controller is secured. */
const transportFlags = {
  'ca-file': string({
    summary: "The CA certificate that signed the controller's certificate.",
    helpValue: 'FILE',
  }),
  'verify-ssl': boolean({
    summary: "Verify the controller's TLS certificate. This is the default.",
    allowNo: true,
  }),
  insecure: boolean({
    summary:
      'Allow sending the credential to another machine over plain HTTP or without verifying its certificate.',
  }),
};

const databaseContextSummary =
  'An existing database context of the same controller, used in printed commands.';

export const loginFlags = {
  name: string({
    summary: 'The name of the context. Default: the existing name, or the first part of the host name.',
    helpValue: 'NAME',
  }),
  ...inGroup('CREDENTIAL', {
    username: string({ summary: 'The user to log in as.', helpValue: 'NAME' }),
    'password-file': string({
      summary: 'Read the password from this file. Only you may have access to it.',
      exclusive: ['password-stdin'],
      helpValue: 'FILE',
    }),
    'password-stdin': boolean({ summary: 'Read the password from stdin.' }),
    browser: boolean({
      summary: 'Paste a token that you create in a browser.',
      exclusive: ['username', 'password-file', 'password-stdin', 'scope'],
    }),
  }),
  scope: option({ options: ['read', 'write'] as const })({
    summary: 'The scope of the new token. Default: write. The scope write includes read.',
  }),
  ...transportFlags,
  'database-context': string({ summary: databaseContextSummary, helpValue: 'NAME' }),
  'dry-run': changeFlags['dry-run'],
  ...accountFlags,
};

export type LoginFlags = FlagsOf<typeof loginFlags>;

export const addContextFlags = {
  url: string({
    summary: 'The address of the controller.',
    helpValue: 'URL',
    exclusive: ['database', 'database-file', 'database-env'],
  }),
  username: string({ summary: 'The user name for a password.', helpValue: 'NAME' }),
  ...transportFlags,
  component: option({ options: ['gateway', 'controller'] as const })({
    summary: 'Use only this component of a platform. Default: both.',
  }),
  'database-context': string({
    summary: databaseContextSummary,
    helpValue: 'NAME',
    exclusive: ['database', 'database-file', 'database-env'],
  }),
  group: string({
    summary: 'Add the context to this group. --context GROUP selects all of its members.',
    multiple: true,
    multipleNonGreedy: true,
    helpValue: 'NAME',
  }),
  replace: boolean({ summary: 'Replace an existing context with this name.' }),
  ...credentialFlags,
  ...databaseFlags,
};

export type AddContextFlags = FlagsOf<typeof addContextFlags>;
