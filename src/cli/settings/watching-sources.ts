import type { Runtime } from '../../app/runtime.ts';
import { matchesAny } from '../../domain/policy/subject.ts';
import type { User } from '../../domain/token.ts';
import {
  type KnownSources,
  knownSources,
  type LastAnswer,
} from '../../operations/directories/known-sources.ts';
import { countText, timeText } from '../../reports/tables/text.ts';

/** The last answer of a directory about the controller. */
export interface SourceJson {
  readonly directory: string;
  readonly at: string;
  readonly listed: number;
  /** Number of the controller's users who had left according to it. */
  readonly gone: number;
}

/**
 * Reads whether a directory checks for departed external users. Optional: if the log cannot be read, the
 * lines say so. Throws `interrupted`, and as opening the target.
 */
export async function watchingSources(
  runtime: Runtime,
): Promise<{ readonly sources: readonly SourceJson[] | null; readonly remarks: readonly string[] }> {
  const known = await knownSources(() => runtime.auditLog(), await runtime.description());
  const { transmitters = {} } = runtime.configuration.signals ?? {};
  return { sources: sourcesOf(known), remarks: sourceLines(known, Object.keys(transmitters)) };
}

/**
 * The directories' last answers about one user, from the audit log, without querying them. One sentence each.
 * Throws `interrupted`, and as reading the user.
 */
export async function ownerLines(runtime: Runtime, username: string): Promise<readonly string[]> {
  const known = await knownSources(() => runtime.auditLog(), await runtime.description());
  if (known.answers === null)
    return [`Not checked: what a directory reported about ${username}. ${known.why}.`];
  let owner: User | undefined;
  for await (const user of (await runtime.target()).users.list({ names: [username] })) owner = user;
  if (owner === undefined)
    return [`Not checked: what a directory reported about ${username}. No such user is listed here.`];
  const { id, externalAccount } = owner;
  return [
    ...(known.answers.length === 0 ? [`No directory was asked about ${username}.`] : []),
    ...known.answers.map((answer) => `${answer.directory}: ${saidOf(answer, { id, username })}`),
    ...(externalAccount === null ? [`${username} is not known as a user of an identity provider.`] : []),
  ];
}

function saidOf(
  { at, gone, except, accounts }: LastAnswer,
  user: { readonly id: number; readonly username: string },
) {
  const asked = `asked at ${timeText(at)}`;
  const { username } = user;
  if (gone.includes(user.id)) return `${asked}; ${username} had left.`;
  if (matchesAny(username, except)) return `${asked}; ${username} is an exception and is not compared.`;
  const compared =
    accounts.length === 0 ? '' : ` It compares users with an account from ${accounts.join(', ')}.`;
  return `${asked}; ${username} was not among those who had left.${compared}`;
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
    return [`Not checked: whether a directory was asked for departed users. ${why}.`, ...told];
  if (answers.length === 0) {
    return [
      'No directory was asked for departed users. Nothing recorded here ends the tokens of a user who is disabled at the identity provider.',
      ...told,
    ];
  }
  return [
    ...answers.map(
      ({ directory, at, listed, gone }) =>
        `The directory ${directory} was last asked for departed users at ${at.toISOString()}: it listed ${countText(listed, 'user')}, and ${gone} here had left.`,
    ),
    ...told,
  ];
}
