import { boolean, string } from '@oclif/core/flags';

const GROUP = { helpGroup: 'CREDENTIAL' } as const;

/** Where the credential of a new context is. The credential itself is never an argument. */
export const credentialFlags = {
  'token-file': string({
    ...GROUP,
    summary: 'A token, in a file that only you can read.',
    helpValue: 'FILE',
  }),
  'password-file': string({ ...GROUP, summary: 'A password, in such a file.', helpValue: 'FILE' }),
  'token-env': string({ ...GROUP, summary: 'A token, in a variable of the environment.', helpValue: 'NAME' }),
  'password-env': string({ ...GROUP, summary: 'A password, in such a variable.', helpValue: 'NAME' }),
  'token-stdin': boolean({ ...GROUP, summary: 'A token, read from stdin and kept in a file.' }),
  'password-stdin': boolean({ ...GROUP, summary: 'A password, read from stdin and kept in a file.' }),
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

/** How the database of a new context is reached. A URL with a password is never an argument. */
export const databaseFlags = {
  database: string({
    ...DATABASE_GROUP,
    summary: "The controller's database: a postgres:// URL without a password, or service=NAME.",
    exclusive: ['database-file', 'database-env'],
    helpValue: 'URL',
  }),
  'database-file': string({
    ...DATABASE_GROUP,
    summary: 'The same, with or without a password, in a file that only you can read.',
    exclusive: ['database-env'],
    helpValue: 'FILE',
  }),
  'database-env': string({
    ...DATABASE_GROUP,
    summary: 'The same, in a variable of the environment.',
    helpValue: 'NAME',
  }),
};

/** What {@link databaseFlags} parse to. */
export interface DatabaseFlags {
  readonly database?: string | undefined;
  readonly 'database-file'?: string | undefined;
  readonly 'database-env'?: string | undefined;
}
