import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { writableFile } from '../../config/configuration.ts';
import { contextOf, databaseContextOf } from '../../config/contexts.ts';
import { linkDatabase } from '../../config/edit-contexts.ts';
import { lines, warning } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';

/** What `context link` prints with `--json`. */
export interface LinkedContextJson {
  readonly name: string;
  readonly databaseContext: string;
  readonly file: string;
  /** False if they were already linked. */
  readonly changed: boolean;
  /** The installation id that both report; null if one of them reports none. */
  readonly installUuid: string | null;
}

/**
 * Sets a database context in the REST context of the same controller. Both are asked for their installation
 * id.
 * @throws TokenctlError `usage` for contexts of the wrong kind, of two installations, or of a platform with
 * both its components; `not_found`, and as the targets' descriptions. Nothing is written then.
 */
export async function linkFlow(
  runtime: Runtime,
  { name, database }: { name: string; database: string },
): Promise<Report<LinkedContextJson>> {
  const { configuration } = runtime;
  const file = writableFile(configuration);
  const [rest, its] = [contextOf(configuration, name), contextOf(configuration, database)];
  if (rest.database !== undefined) throw wrongKind(name, 'a database', 'Specify the REST context first.');
  if (its.database === undefined)
    throw wrongKind(database, 'the REST API', 'Specify the database context second.');
  const [here, there] = [name, database].map((context) =>
    runtime.in({ context, progress: runtime.progress }),
  ) as [Runtime, Runtime];
  if ((await here.components()).length > 1) {
    throw new TokenctlError(
      'usage',
      `"${name}" is a platform with two components, each with its own database`,
      { hint: 'Set both in the configuration: databaseContext: { gateway: NAME, controller: NAME }.' },
    );
  }
  const [installUuid, other] = [
    (await here.description()).installUuid,
    (await there.description()).installUuid,
  ];
  if (installUuid !== null && other !== null && installUuid !== other) {
    throw new TokenctlError('usage', `"${name}" and "${database}" are two different controllers`, {
      hint: `Their installation IDs are ${installUuid} and ${other}. Check the addresses with \`tokenctl context check\`.`,
    });
  }
  const isChecked = installUuid !== null && other !== null;
  const changed = databaseContextOf(rest) !== database;
  if (changed) linkDatabase(configuration, name, database);
  return report({
    json: { name, databaseContext: database, file, changed, installUuid: isChecked ? installUuid : null },
    document: [
      lines(
        changed
          ? `"${database}" is now the database context of "${name}", in ${file}.`
          : `"${database}" is already the database context of "${name}". Nothing was changed.`,
        isChecked
          ? `Both belong to the installation ${installUuid}.`
          : warning`Not checked: whether both belong to the same controller. One of them does not report its installation ID.`,
      ),
    ],
  });
}

function wrongKind(name: string, kind: string, hint: string): TokenctlError {
  return new TokenctlError('usage', `"${name}" is a context for ${kind}`, { hint });
}
