import { option, string } from '@oclif/core/flags';
import { accountFlags, age, dryRunFlag, type FlagsOf } from '../flags/flags.ts';

export const execFlags = {
  scope: option({ options: ['read', 'write'] as const })({
    summary: 'The scope of the token. Default: write, which includes read.',
  }),
  for: age({
    summary: 'Revoke the token after this time (30m), even if the program is still running. Default: 1h.',
  }),
  user: string({
    summary: "The token's user, over a database connection. Over REST, this is always you.",
    helpValue: 'NAME',
  }),
  env: string({
    summary: 'Also pass the token to the program in this variable.',
    helpValue: 'NAME',
    multiple: true,
    multipleNonGreedy: true,
  }),
  via: string({
    summary: 'Get the token from this broker, for the identity of this run. No context is needed.',
    helpValue: 'URL',
    exclusive: ['for', 'user', 'context', 'database-file'],
  }),
  'identity-file': string({
    summary: 'The file with the identity, such as a projected Kubernetes token.',
    helpValue: 'FILE',
    dependsOn: ['via'],
    exclusive: ['identity-env'],
  }),
  'identity-env': string({
    summary: 'The variable with the identity. Default: that of GitHub Actions, or TOKENCTL_IDENTITY.',
    helpValue: 'NAME',
    dependsOn: ['via'],
  }),
  'identity-audience': string({
    summary: 'The audience of the identity from GitHub Actions. Default: the URL of the broker.',
    helpValue: 'URL',
    dependsOn: ['via'],
  }),
  'via-context': string({
    summary: 'The broker context that the token is for, if several rules match.',
    helpValue: 'NAME',
    dependsOn: ['via'],
  }),
  ...dryRunFlag,
  ...accountFlags,
};

export type ExecFlags = FlagsOf<typeof execFlags>;
