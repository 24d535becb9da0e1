import { boolean, string } from '@oclif/core/flags';

const GROUP = { helpGroup: 'CREDENTIAL' } as const;

/** The location of a new context's credential, which is never an argument itself. */
export const credentialFlags = {
  'token-file': string({
    ...GROUP,
    summary: 'Read the token from this file, which only you can read.',
    helpValue: 'FILE',
  }),
  'password-file': string({ ...GROUP, summary: 'Read the password from such a file.', helpValue: 'FILE' }),
  'token-env': string({
    ...GROUP,
    summary: 'Read the token from this environment variable.',
    helpValue: 'NAME',
  }),
  'password-env': string({
    ...GROUP,
    summary: 'Read the password from this environment variable.',
    helpValue: 'NAME',
  }),
  'token-stdin': boolean({ ...GROUP, summary: 'Read the token from stdin and store it in a file.' }),
  'password-stdin': boolean({ ...GROUP, summary: 'Read the password from stdin and store it in a file.' }),
};

/** What {@link credentialFlags} parse to. */
export interface CredentialFlags {
  readonly 'token-file'?: string | undefined;
  readonly 'password-file'?: string | undefined;
  readonly 'token-env'?: string | undefined;
  readonly 'password-env'?: string | undefined;
  readonly 'token-stdin'?: boolean | undefined;
  readonly 'password-stdin'?: boolean | undefined;
}

const DATABASE_GROUP = { helpGroup: 'DATABASE' } as const;

/** The database of a new context. A URL with a password is never an argument. */
export const databaseFlags = {
  database: string({
    ...DATABASE_GROUP,
    summary: "The controller's database: a postgres:// URL without a password, or service=NAME.",
    exclusive: ['database-file', 'database-env'],
    helpValue: 'URL',
  }),
  'database-file': string({
    ...DATABASE_GROUP,
    summary: 'A file with the URL, which may contain a password. Only you can read it.',
    exclusive: ['database-env'],
    helpValue: 'FILE',
  }),
  'database-env': string({
    ...DATABASE_GROUP,
    summary: 'An environment variable with the URL.',
    helpValue: 'NAME',
  }),
};

/** What {@link databaseFlags} parse to. */
export interface DatabaseFlags {
  readonly database?: string | undefined;
  readonly 'database-file'?: string | undefined;
  readonly 'database-env'?: string | undefined;
}
