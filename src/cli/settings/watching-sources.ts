import type { Runtime } from '../../app/runtime.ts';
import { type KnownSources, knownSources } from '../../operations/directories/known-sources.ts';
import { countText } from '../../reports/tables/text.ts';

/** The last answer of a directory about the controller. */
export interface SourceJson {
  readonly directory: string;
  /** When it answered. */
  readonly at: string;
  /** How many users it listed. */
  readonly listed: number;
  /** How many users of the controller had left by it. */
  readonly gone: number;
}

/**
 * Reads whether a source watches over the tokens of external users. Optional: where the log cannot be read, the lines say so.
 *
 * @throws TokenctlError `interrupted` only, and what opening the target throws.
 */
export async function watchingSources(
  runtime: Runtime,
): Promise<{ readonly sources: readonly SourceJson[] | null; readonly remarks: readonly string[] }> {
  const known = await knownSources(() => runtime.auditLog(), await runtime.description());
  const { transmitters = {} } = runtime.configuration.signals ?? {};
  return { sources: sourcesOf(known), remarks: sourceLines(known, Object.keys(transmitters)) };
}

function sourcesOf({ answers }: KnownSources): readonly SourceJson[] | null {
  if (answers === null) return null;
  return answers.map(({ directory, at, listed, gone }) => ({
    directory,
    at: at.toISOString(),
    listed,
    gone: gone.length,
  }));
}

function sourceLines({ answers, why }: KnownSources, transmitters: readonly string[]): readonly string[] {
  const told =
    transmitters.length === 0
      ? []
      : [`Security events are configured (${transmitters.join(', ')}). Not checked: whether they arrive.`];
  if (answers === null)
    return [`Not checked: whether a directory was asked which users have left. ${why}.`, ...told];
  if (answers.length === 0) {
    return [
      'No directory was asked which users have left: nothing that is recorded here ends the token of a user who is disabled at the identity provider.',
      ...told,
    ];
  }
  return [
    ...answers.map(
      ({ directory, at, listed, gone }) =>
        `The directory ${directory} was last asked which users have left at ${at.toISOString()}: it listed ${countText(listed, 'user')}, and ${gone} here had left.`,
    ),
    ...told,
  ];
}
