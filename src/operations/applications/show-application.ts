import { TokenctlError } from '@tokenctl/common/errors.ts';
import { allowsWriting } from '@tokenctl/common/token-terms.ts';
import { hasExpired } from '../../domain/policy/rule.ts';
import type { Token } from '../../domain/token.ts';
import type { ReadTarget, Target } from '../ports/target.ts';
import type { ApplicationDetails, RefreshTokens } from '../ports/target-parts.ts';
import { resolveNames } from '../scope/resolve-names.ts';

/** The name of an application, and its id if several organizations have an application of this name. */
export interface ApplicationName {
  readonly name: string;
  readonly id?: number | undefined;
}

/** An application, and whether its name is unique: selectors use names. */
export interface NamedApplication extends ApplicationDetails {
  readonly isOnlyOne: boolean;
}

/**
 * Finds one application. Reads only.
 * @throws TokenctlError `not_found`, `permission_refused` for an account that does not see everything,
 * `usage` for a name that several organizations use.
 */
export async function findApplication(
  target: Target,
  { name, id }: ApplicationName,
): Promise<NamedApplication> {
  await resolveNames(target, { applications: [name] });
  const named = await target.applications.list([name]);
  const meant = id === undefined ? named : named.filter((each) => each.id === id);
  const [only] = meant;
  if (meant.length > 1) {
    throw new TokenctlError('usage', `Several applications are named "${name}": ${idsText(named)}`, {
      hint: 'Select one with --id.',
    });
  }
  const found = only === undefined ? null : await target.applications.find(only.id);
  if (found !== null) return { ...found, isOnlyOne: named.length === 1 };
  throw new TokenctlError('not_found', `No application is named "${name}" and has the ID ${id}`, {
    hint: `With this name: ${idsText(named)}.`,
  });
}

function idsText(applications: readonly { readonly id: number }[]): string {
  return `id ${applications.map(({ id }) => id).join(', id ')}`;
}

interface ApplicationTokens {
  readonly total: number;
  /** Tokens with the scope write, including expired ones. */
  readonly write: number;
  readonly expired: number;
  readonly withRefreshToken: number;
  /** The last use of any token; null for never; undefined if the target does not record it. */
  readonly lastUsed: Date | null | undefined;
  /** In descending order. */
  readonly byUser: readonly { readonly username: string; readonly tokens: number }[];
}

export interface ShownApplication {
  readonly application: NamedApplication;
  readonly accessTokens: ApplicationTokens;
  /** Refresh tokens that are not revoked; null if the target does not list them. */
  readonly refreshTokens: number | null;
}

/** Reads an application and its tokens, without its client secret. Throws as {@link findApplication}. */
export async function showApplication(
  options: ReadTarget & { readonly name: ApplicationName },
): Promise<ShownApplication> {
  const { target, clock } = options;
  const application = await findApplication(target, options.name);
  return {
    application,
    accessTokens: await countTokens(target, application, clock.now()),
    refreshTokens: target.refreshTokens ? await countRefreshTokens(target.refreshTokens, application) : null,
  };
}

/** The access tokens of one application. A selector uses its name, which others may share. */
export async function* tokensOf(
  target: Target,
  { id, name }: Pick<ApplicationDetails, 'id' | 'name'>,
): AsyncIterable<Token> {
  for await (const token of target.tokens({ applications: [name] })) {
    if (token.application?.id === id) yield token;
  }
}

async function countTokens(target: Target, application: ApplicationDetails, now: Date) {
  const counts = { total: 0, write: 0, expired: 0, withRefreshToken: 0 };
  const byUser = new Map<string, number>();
  let lastUsed: Date | null | undefined = null;
  for await (const token of tokensOf(target, application)) {
    counts.total += 1;
    counts.write += Number(allowsWriting(token));
    counts.expired += Number(hasExpired(token, now));
    counts.withRefreshToken += Number(token.hasRefreshToken);
    const username = token.user?.username ?? '';
    byUser.set(username, (byUser.get(username) ?? 0) + 1);
    if (token.lastUsed === undefined) lastUsed = undefined;
    else if (lastUsed !== undefined && (token.lastUsed?.getTime() ?? 0) > (lastUsed?.getTime() ?? 0))
      lastUsed = token.lastUsed;
  }
  const users = Array.from(byUser, ([username, tokens]) => ({ username, tokens }));
  return { ...counts, lastUsed, byUser: users.sort((one, other) => other.tokens - one.tokens) };
}

async function countRefreshTokens(tokens: RefreshTokens, { id, name }: ApplicationDetails): Promise<number> {
  let count = 0;
  for await (const { application } of tokens.list({ applications: [name], states: ['live', 'orphaned'] })) {
    if (application?.id === id) count += 1;
  }
  return count;
}
