import { boolean, option, string } from '@oclif/core/flags';
import {
  allContextsFlag,
  changeFlags,
  count,
  csvFlag,
  days,
  type FlagsOf,
  inGroup,
  replaceFlag,
  selectorFlags,
} from '../flags/flags.ts';

export const auditFlags = {
  ...selectorFlags,
  ...csvFlag,
  format: option({ options: ['table', 'json', 'csv', 'sarif', 'html'] as const })({
    summary: 'The output format. Default: table.',
    exclusive: ['json', 'csv'],
  }),
  rule: string({
    summary: 'Check only this rule, even if the policy disables it.',
    multiple: true,
    multipleNonGreedy: true,
    helpValue: 'RULE',
  }),
  'min-severity': option({ options: ['low', 'medium', 'high', 'critical'] as const })({
    summary: 'Report only findings of this severity or above. Table default: medium.',
  }),
  list: boolean({ summary: 'Show all findings in one table.', exclusive: ['csv'] }),
  limit: count({ summary: 'Show at most this many findings of each rule. Default: 5.', helpValue: 'N' }),
  'last-used': boolean({
    summary: 'Show when tokens were last used, also over REST (the day only, for up to 10,000 tokens).',
  }),
  output: string({
    summary: 'Write the report to this new file with mode 0600, and print a summary.',
    helpValue: 'FILE',
  }),
  ...replaceFlag,
  summary: boolean({
    summary: 'Print only the number of findings by rule and severity.',
    exclusive: ['csv'],
  }),
  'group-by': option({ options: ['user', 'application', 'rule', 'severity'] as const })({
    summary: 'Print only the number of findings in each group.',
    exclusive: ['summary'],
  }),
  'fail-on': option({ options: ['low', 'medium', 'high', 'critical'] as const })({
    summary: 'Exit with 3 if there are findings of this severity or above.',
  }),
  baseline: string({ summary: 'Do not count the findings listed in this file.', helpValue: 'FILE' }),
  'write-baseline': string({ summary: 'Write a list of all findings to this file.', helpValue: 'FILE' }),
  explain: string({ summary: 'Explain a rule without running an audit.', helpValue: 'RULE' }),
  ...inGroup('POLICY', {
    policy: string({
      summary: "The policy file to use instead of the configuration's policy section.",
      helpValue: 'FILE',
    }),
    'max-lifetime': days({ summary: 'Report tokens with a lifetime longer than this.' }),
    'unused-for': days({ summary: 'Report tokens unused for longer than this.' }),
  }),
  ...allContextsFlag,
};

export type AuditFlags = FlagsOf<typeof auditFlags>;

export const noticeFlags = {
  ...csvFlag,
  within: days({
    summary: 'Report tokens that expire within this time. Can be repeated.',
    multiple: true,
    multipleNonGreedy: true,
  }),
  'webhook-file': string({
    summary: 'Post to the URL in this file with mode 0600. Can be repeated.',
    multiple: true,
    multipleNonGreedy: true,
    helpValue: 'FILE',
  }),
  'webhook-secret-file': string({
    summary: 'Sign messages with the secret in this file with mode 0600.',
    helpValue: 'FILE',
    dependsOn: ['webhook-file'],
  }),
  'dry-run': boolean({ summary: 'List what would be sent, without sending it.' }),
  ...allContextsFlag,
};

export type NoticeFlags = FlagsOf<typeof noticeFlags>;

export const ownerNoticeFlags = {
  show: string({
    summary: "With --dry-run, also print this owner's email.",
    dependsOn: ['dry-run'],
    helpValue: 'NAME',
  }),
  'at-most': count({
    summary: 'Send at most this many emails. The rest are sent by the next run.',
    helpGroup: 'CHANGE',
    helpValue: 'N',
  }),
  ...changeFlags,
  ...allContextsFlag,
};

export type OwnerNoticeFlags = FlagsOf<typeof ownerNoticeFlags>;
