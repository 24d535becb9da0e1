import { boolean, string } from '@oclif/core/flags';
import { age, changeFlags, csvFlag, type FlagsOf } from '../flags/flags.ts';

export const migrationFlags = {
  from: string({
    summary: 'The context of the controller whose tokens are replaced.',
    required: true,
    helpValue: 'CONTEXT',
    exclusive: ['context', 'database-file'],
  }),
  to: string({ summary: 'The context of the platform gateway.', required: true, helpValue: 'CONTEXT' }),
  'used-within': age({ summary: 'Replace tokens that were used within this time. Default: 90d.' }),
  store: string({
    summary: 'Write each new token to this configured store.',
    helpValue: 'NAME',
    exclusive: ['output-dir'],
  }),
  'output-dir': string({
    summary:
      'Write each new token to a file with mode 0600 in this directory. The files are named migrated-CONTROLLER-ID, with the ID of the old token.',
    helpValue: 'DIR',
  }),
  finish: boolean({
    summary: 'Revoke old tokens whose replacement has been used, and that have not been used for --quiet.',
    exclusive: ['store', 'output-dir', 'used-within', 'csv'],
  }),
  quiet: age({
    summary: 'With --finish, how long an old token must be unused. Default: 14d.',
    dependsOn: ['finish'],
  }),
  ...csvFlag,
  ...changeFlags,
};

export type MigrationFlags = FlagsOf<typeof migrationFlags>;
