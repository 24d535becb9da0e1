import { TokenctlError } from '@tokenctl/common/errors.ts';
import { createRuntime, type Runtime } from '../../app/runtime.ts';
import { directoriesSchema } from '../../config/directories.ts';
import { editFile } from '../../config/edit-contexts.ts';
import { LDAP_SETTINGS, type LdapDraft, ldapDrafts } from '../../operations/directories/ldap-draft.ts';
import { PATIENCE } from '../../operations/ports/target-parts.ts';
import type { Document } from '../../reports/document.ts';
import { lines, list } from '../../reports/document.ts';
import { writeNotice } from '../output/streams.ts';

/** A directory that was written to the configuration. */
interface Drafted {
  readonly name: string;
  /** Where its password is expected. */
  readonly passwordFile: string;
  readonly draft: LdapDraft;
}

/**
 * Writes a draft of a controller's LDAP directories, from its own settings, to a configuration without
 * directories. Passwords are not read: the configuration names the files where they are expected.
 * @returns The written ones; empty if the settings cannot be read, or name no usable server.
 */
export async function draftDirectories(
  { configuration: { directories }, environment }: Pick<Runtime, 'configuration' | 'environment'>,
  {
    file,
    config,
    context,
    isService,
  }: { file: string; config: string | undefined; context: string; isService: boolean },
): Promise<readonly Drafted[]> {
  if (Object.keys(directories).length > 0) return [];
  const runtime = createRuntime({ flags: { config, context }, environment, notify: writeNotice });
  try {
    const folder = isService ? '$CREDENTIALS_DIRECTORY' : 'secrets';
    const drafted = ldapDrafts(await readSettings(runtime)).flatMap((draft) => {
      const { name, ...settings } = draft;
      const passwordFile = `${folder}/${name}.bind-password`;
      const section = { ...settings, bindPassword: { file: passwordFile } };
      // A controller's setting may contain values that are invalid for a directory here.
      if (!directoriesSchema.safeParse({ [name]: section }).success) return [];
      return [{ name, passwordFile, draft, section }];
    });
    if (drafted.length === 0) return [];
    editFile(file, (document) => {
      for (const { name, section } of drafted)
        document.setIn(['directories', name], document.createNode(section));
    });
    return drafted;
  } finally {
    await runtime.close();
  }
}

/** What is left to do for each. */
export function draftLines(drafted: readonly Drafted[]): Document {
  return drafted.map(({ name, passwordFile, draft }) =>
    lines(
      `Drafted the directory ${name} from the settings of the controller: ${draft.url.join(', ')}, ${draft.base.join('; ')}.`,
      'Before it can detect departed users:',
      list(
        `put the password of ${draft.bindDn} into ${passwordFile}, mode 0600, next to the configuration file`,
        'add caFile if its certificate is signed by your own CA',
        ['tokenctl', 'users', 'offboard', '--gone', name, '--dry-run'].join(' '),
      ),
    ),
  );
}

async function readSettings(runtime: Runtime): Promise<ReadonlyMap<string, unknown>> {
  try {
    const evidence = await runtime.evidence();
    try {
      return (await evidence.settings(LDAP_SETTINGS, PATIENCE)) ?? new Map();
    } finally {
      await evidence.close();
    }
  } catch (error) {
    // Only a draft needs them.
    if (error instanceof TokenctlError) return new Map();
    throw error;
  }
}
