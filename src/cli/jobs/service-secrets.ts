import { basename, dirname, join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { NamedContext } from '../../config/contexts.ts';
import { MACHINE } from '../../config/machine-place.ts';

/** The drop-in files for the secrets of the package's units. */
export const SERVICE_DROP_INS = [
  'tokenctl-broker.service',
  'tokenctl-jobs.service',
  'tokenctl-signals.service',
  'tokenctl-sweep.service',
].map((unit) => `/etc/systemd/system/${unit}.d/secrets.conf`);

/** How the machine's service, which does not run as root, gets the credential of a context. */
export interface ServiceSecret {
  /** The path of the setting in the context. */
  readonly setting: readonly string[];
  /** The credential as the configuration names it. */
  readonly reference: { readonly file: string };
  /** The drop-in that passes the credential, and further secrets of the same folder by name. */
  text(others: readonly string[]): string;
}

/**
 * How the service gets the credential of a context. The drop-in replaces the credential that the units name:
 * a unit does not start if its file is missing.
 * @throws TokenctlError `configuration` if the credential is not in the folder of the machine's secrets
 */
export function dropInFor(context: NamedContext): ServiceSecret {
  const folder = join(dirname(MACHINE.configuration), 'secrets');
  const [setting, secret] =
    context.database !== undefined
      ? (['database', context.database] as const)
      : context.token !== undefined
        ? (['token', context.token] as const)
        : (['password', context.password] as const);
  const file = typeof secret === 'object' && 'file' in secret ? secret.file : undefined;
  if (file === undefined || dirname(file) !== folder) {
    throw new TokenctlError(
      'configuration',
      `The service cannot read the credential of the context "${context.name}": it is not in ${folder}`,
      {
        hint: 'Log in again: tokenctl login ADDRESS. Alternatively, move its file there and name it in the configuration.',
      },
    );
  }
  const name = basename(file);
  return {
    setting: [setting],
    reference: { file: `$CREDENTIALS_DIRECTORY/${name}` },
    text: (others) =>
      [
        '# Written by `tokenctl jobs init`. systemd passes these files to the service; only root can read them.',
        '[Service]',
        'LoadCredential=',
        ...[name, ...others].map((each) => `LoadCredential=${each}:${join(folder, each)}`),
        '',
      ].join('\n'),
  };
}
