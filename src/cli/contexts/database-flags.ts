import { string } from '@oclif/core/flags';

const GROUP = { helpGroup: 'DATABASE' } as const;

/** How the database of a new context is reached. A URL with a password is never an argument. */
export const databaseFlags = {
  database: string({
    ...GROUP,
    summary: "The controller's database: a postgres:// URL without a password, or service=NAME.",
    exclusive: ['database-file', 'database-env'],
    helpValue: 'URL',
  }),
  'database-file': string({
    ...GROUP,
    summary: 'The same, with or without a password, in a file that only you can read.',
    exclusive: ['database-env'],
    helpValue: 'FILE',
  }),
  'database-env': string({
    ...GROUP,
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
