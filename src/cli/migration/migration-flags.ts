import { boolean, string } from '@oclif/core/flags';
import { age, changeFlags, csvFlag, type FlagsOf } from '../flags/flags.ts';

/** The flags of `tokens migrate`. */
export const migrationFlags = {
  from: string({
    summary: 'The context of the controller whose tokens stop.',
    required: true,
    helpValue: 'CONTEXT',
    exclusive: ['context', 'database-file'],
  }),
  to: string({ summary: 'The context of the platform gateway.', required: true, helpValue: 'CONTEXT' }),
  'used-within': age({
    summary: 'Make new tokens for those that were used within this time; 90d by default.',
  }),
  store: string({
    summary: 'Put the value of each new token into this store of the configuration.',
    helpValue: 'NAME',
    exclusive: ['output-dir'],
  }),
  'output-dir': string({
    summary:
      'Put each into a file with mode 0600 in this directory: migrated-CONTROLLER-ID, by the id of the old token.',
    helpValue: 'DIR',
  }),
  finish: boolean({
    summary: 'Revoke the old tokens whose new one was used, and that were not used for --quiet.',
    exclusive: ['store', 'output-dir', 'used-within', 'csv'],
  }),
  quiet: age({
    summary: 'With --finish: for how long an old token was not used; 14d by default.',
    dependsOn: ['finish'],
  }),
  ...csvFlag,
  ...changeFlags,
};

export type MigrationFlags = FlagsOf<typeof migrationFlags>;
