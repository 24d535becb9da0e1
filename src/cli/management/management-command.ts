import { boolean, option, string } from '@oclif/core/flags';
import type { Report } from '../../reports/result.ts';
import { inGroup } from '../flags/flags.ts';

const NO_EFFECT = { summary: 'Accepted, without effect.' } as const;

/** The options of every Django management command. */
export const djangoFlags = inGroup('DJANGO', {
  verbosity: option({ options: ['0', '1', '2', '3'] as const })({
    char: 'v',
    summary: 'With 0, cleanup_tokens prints nothing. Otherwise without effect.',
  }),
  traceback: boolean({ summary: 'Show where an error occurred.' }),
  version: boolean({ summary: 'Print the version of tokenctl.' }),
  'no-color': boolean({ summary: 'Print no colors.' }),
  'force-color': boolean(NO_EFFECT),
  'skip-checks': boolean(NO_EFFECT),
  settings: string({ ...NO_EFFECT, helpValue: 'MODULE' }),
  pythonpath: string({ ...NO_EFFECT, helpValue: 'PATH' }),
});

interface VersionJson {
  readonly version: string;
}

/**
 * Does what Django does before a management command runs; returns the result of `--version`, which runs none.
 * Throws ManagementError if both --no-color and --force-color are given.
 */
export async function djangoStart(
  version: string,
  flags: { version?: boolean; 'no-color'?: boolean; 'force-color'?: boolean },
): Promise<Report<VersionJson> | null> {
  if (flags.version === true) {
    const { report } = await import('../../reports/result.ts');
    return report({ json: { version }, text: () => `${version}\n` });
  }
  if (flags['no-color'] === true && flags['force-color'] === true) {
    const { ManagementError } = await import('../errors/failure.ts');
    throw new ManagementError('usage', "The --no-color and --force-color options can't be used together.");
  }
  return null;
}
