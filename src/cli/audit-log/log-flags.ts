import { boolean, custom, option, string } from '@oclif/core/flags';
import { exportFormats } from '../../config/schema.ts';
import { type FlagsOf, moment, replaceFlag } from '../flags/flags.ts';
import { type Moment, parseMoment } from '../flags/times.ts';

export const verificationFlags = {
  checkpoint: string({ summary: 'An earlier checkpoint that the log must match.', helpValue: 'FILE' }),
  proof: string({
    summary: 'Verify the proof of an entry instead of the log.',
    helpValue: 'FILE',
    exclusive: ['checkpoint'],
  }),
  key: string({
    summary: 'The trusted public key, or a file of keys. Default: the keys from log init.',
    helpValue: 'KEY|FILE',
    relationships: [{ type: 'some', flags: ['checkpoint', 'proof'] }],
  }),
};

export type VerificationFlags = FlagsOf<typeof verificationFlags>;

export const proofFlags = {
  checkpoint: string({
    summary: 'A checkpoint that covers the entry. Default: a new checkpoint.',
    helpValue: 'FILE',
  }),
  output: string({
    summary: 'Write the proof to this new file with mode 0600. Default: stdout.',
    helpValue: 'FILE',
  }),
  ...replaceFlag,
};

export type ProofFlags = FlagsOf<typeof proofFlags>;

export const keyFlags = {
  name: string({
    summary: 'The name of the log in checkpoints, such as example.org/audit. Default: HOST/audit.',
    helpValue: 'NAME',
    exclusive: ['rotate'],
  }),
  rotate: boolean({ summary: 'Replace the key with a new key of the same name.' }),
  output: string({
    summary: 'Write the checkpoint signed by both keys to this file.',
    helpValue: 'FILE',
    dependsOn: ['rotate'],
  }),
};

export type KeyFlags = FlagsOf<typeof keyFlags>;

export const reportFlags = {
  since: moment({ summary: 'The start: a date or an age (7d).' }),
  until: moment({ summary: 'The end, exclusive: a date or an age.' }),
  format: option({ options: ['markdown', 'html'] as const })({
    summary: 'The format of the report. Default: markdown.',
  }),
  output: string({
    summary: 'Write the report to this new file with mode 0600. Default: stdout.',
    helpValue: 'FILE',
  }),
  ...replaceFlag,
};

export type ReportFlags = FlagsOf<typeof reportFlags>;

export const exportFlags = {
  format: option({ options: exportFormats, required: true })({
    summary: 'The format of the records. jsonl outputs the lines of the log unchanged.',
  }),
  to: string({ summary: 'The sink for the records. Default: stdout.', helpValue: 'ADDRESS|FILE' }),
  'ca-file': string({
    summary: 'A CA certificate for a tls:// or https:// sink.',
    helpValue: 'FILE',
    dependsOn: ['to'],
  }),
  'token-file': string({
    summary: 'A file (mode 0600) with the bearer token for an https:// sink.',
    helpValue: 'FILE',
    dependsOn: ['to'],
  }),
  cursor: string({ summary: 'The file that stores the export position.', helpValue: 'FILE' }),
  since: custom<number | Moment>({
    parse: async (input) => (/^[1-9]\d{0,14}$/.test(input) ? Number(input) : parseMoment(input)),
  })({
    summary: 'Start at this entry number, date or age. A saved cursor takes precedence.',
    helpValue: 'SEQ|WHEN',
  }),
  follow: boolean({ summary: 'Keep exporting new entries until stopped.' }),
};

export type ExportFlags = FlagsOf<typeof exportFlags>;
