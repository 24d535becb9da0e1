import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { requireNewFile } from '../../app/secret-file.ts';
import { absolutePath } from '../../config/paths.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { createIntoFile } from '../tokens/creation-flow.ts';
import { useText } from '../tokens/token-use.ts';
import type { RescueFlags } from './settings-flags.ts';

/** A token that was created before Basic authentication is turned off, and the run that uses it. */
export interface Rescue {
  readonly runtime: Runtime;
  readonly tokenId: number;
  readonly file: string;
}

/** The placeholder for the context in the file name. */
const CONTEXT = '{context}';

/**
 * The file for a rescue token: null without the flag, and for a caller without a password, who needs none.
 * Throws `usage` for a file that exists or cannot be created, and for one file for several contexts.
 */
export async function rescueFileFor(options: {
  runtime: Runtime;
  flags: RescueFlags;
  several: boolean;
}): Promise<string | null> {
  const { runtime, flags, several } = options;
  const given = flags['rescue-token'];
  if (given === undefined) return null;
  const { credential, context } = await runtime.description();
  if (credential !== 'password') return null;
  if (several && !given.includes(CONTEXT)) {
    throw new TokenctlError(
      'usage',
      `--rescue-token ${given} is a single file, but there are several contexts`,
      { hint: `Use ${CONTEXT} in the name to write one file for each context.` },
    );
  }
  const name = given.replaceAll(CONTEXT, context.replace('/', '+'));
  const file = absolutePath(name, process.cwd(), runtime.environment);
  requireNewFile(file);
  return file;
}

export function rescuePlanLine(file: string, { identity }: TargetDescription): string {
  return `First, a token with scope write for ${identity.username} is created in ${file} and used from then on.`;
}

/**
 * Creates a token for the caller in a new file, and tests it: the returned run uses it.
 * @throws TokenctlError as the creation of a token does; `partly_done` if the token was created and does not
 * work: nothing else was changed.
 */
export async function createRescueToken(options: {
  runtime: Runtime;
  flags: RescueFlags;
  file: string;
}): Promise<Rescue> {
  const { runtime, flags, file } = options;
  const { identity } = await runtime.description();
  const request = { scope: 'write' as const, description: 'tokenctl rescue token' };
  const { id } = await createIntoFile({ runtime, flags, request, output: file });
  const rescued = runtime.withToken(file);
  const works = await rescued.description().then(
    (found) => found.identity.id === identity.id && found.capabilities.changes,
    (error: unknown) => {
      if (error instanceof TokenctlError) return false;
      throw error;
    },
  );
  if (works) return { runtime: rescued, tokenId: id, file };
  throw new TokenctlError('partly_done', `The rescue token ${id} does not work; no setting was changed`, {
    hint: `The token is in ${file}. Test it, or revoke it with \`tokenctl tokens revoke --id ${id}\`.`,
    details: { tokenId: id },
  });
}

/** The members that a change with a rescue token adds to its JSON. */
export interface RescueJson {
  /** The rescue token that was created first; null if none was. */
  readonly rescueToken: { readonly tokenId: number; readonly file: string } | null;
}

export function rescueJson(rescue: Rescue | null): RescueJson {
  return { rescueToken: rescue === null ? null : { tokenId: rescue.tokenId, file: rescue.file } };
}

/** Where the token is and how to use it from now on; empty if there is none. */
export async function rescueLines(rescue: Rescue | null): Promise<readonly string[]> {
  if (rescue === null) return [];
  const { runtime, tokenId, file } = rescue;
  const { context } = await runtime.description();
  return [
    `Rescue token ${tokenId} is in ${file}, which only you can read.`,
    useText(runtime, { name: context, file }),
  ];
}
