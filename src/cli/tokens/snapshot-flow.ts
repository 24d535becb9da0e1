import { statSync } from 'node:fs';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { z } from 'zod';
import type { Runtime } from '../../app/runtime.ts';
import { requireNewFile, writeSecretFile } from '../../app/secret-file.ts';
import { describeSelector, isByGroup, type Selection } from '../../domain/selector.ts';
import type { Token } from '../../domain/token.ts';
import {
  CHANGES,
  type ChangedToken,
  compareTokens,
  type SnapshotToken,
  type TokenChange,
} from '../../domain/token-diff.ts';
import { entryTarget } from '../../operations/journal/journal.ts';
import { fullViewHint, unseenPart } from '../../operations/scope/visibility.ts';
import { type Document, lines } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { countText, numberText, secondText } from '../../reports/tables/text.ts';
import { jsonIn, requireReadable } from '../flags/flags.ts';
import type { FindingFlags } from './token-flags.ts';
import { selectTokens } from './token-selection.ts';

/** What `tokens snapshot` prints with `--json`. */
export interface SnapshotJson {
  readonly output: string;
  readonly at: string;
  /** The selection in words. */
  readonly selection: string;
  readonly tokens: number;
  /** Why the account did not see the whole selection; null if it did. */
  readonly notSeen: string | null;
}

/** What `tokens diff` prints with `--json`. */
export interface TokenDiffJson {
  /** When each side was taken, and why its account did not see everything; null if it did. */
  readonly before: { readonly at: string; readonly notSeen: string | null };
  readonly after: { readonly at: string; readonly notSeen: string | null };
  readonly selection: string;
  /** Whether both sides have the tokens' last uses; if not, nothing is newly used or idle. */
  readonly tellsUse: boolean;
  readonly changes: readonly ChangedToken[];
}

const MAX_TOKENS = 200_000;
const MAX_BYTES = 256 * 1024 * 1024;
/** The maximum number of tokens of each kind to show; --json has all. */
const SHOWN = 50;

const schema = z.strictObject({
  format: z.literal('tokenctl-tokens'),
  version: z.literal(1),
  /** By the controller's clock. */
  at: z.iso.datetime(),
  target: z.record(z.string(), z.string()),
  selection: z.string(),
  notSeen: z.string().nullable(),
  tokens: z.array(
    z.strictObject({
      id: z.number().int().positive(),
      user: z.strictObject({ id: z.number().int(), username: z.string() }).nullable(),
      application: z.string().nullable(),
      scope: z.string(),
      description: z.string(),
      created: z.iso.datetime(),
      expires: z.iso.datetime(),
      lastUsed: z.iso.datetime().nullable().exactOptional(),
    }),
  ),
});

type Snapshot = z.infer<typeof schema>;

interface SnapshotRequest {
  readonly runtime: Runtime;
  readonly selection: Selection;
  readonly flags: FindingFlags;
}

/**
 * Saves the selected tokens, without their values, to a new file that only its owner can read. Throws `usage`
 * for a file that exists, or more than 200,000 tokens; and as {@link selectTokens}.
 */
export async function snapshotFlow(
  request: SnapshotRequest & { readonly output: string },
): Promise<Report<SnapshotJson>> {
  const { output, runtime } = request;
  requireNewFile(output);
  const snapshot = await taken(request);
  writeSecretFile(output, new Secret(JSON.stringify(snapshot)));
  const { at, selection, tokens, notSeen } = snapshot;
  return report({
    json: { output, at, selection, tokens: tokens.length, notSeen },
    document: [
      lines(
        `Saved ${countText(tokens.length, 'token')} to ${output}: ${selection}, at ${secondText(at)}.`,
        `To compare: tokenctl tokens diff ${output}`,
      ),
    ],
    failure:
      notSeen === null
        ? undefined
        : new TokenctlError('partly_done', `The snapshot is incomplete: ${notSeen}`, {
            hint: fullViewHint(await runtime.description()),
          }),
  });
}

async function taken({ runtime, selection, flags }: SnapshotRequest): Promise<Snapshot> {
  const description = await runtime.description();
  const at = (await runtime.targetClock()).now().toISOString();
  const { selector, tokens: rows } = await selectTokens(runtime, selection, flags);
  const tokens: SnapshotToken[] = [];
  for await (const token of rows()) {
    if (tokens.length === MAX_TOKENS) {
      throw new TokenctlError('usage', `A snapshot can contain at most ${numberText(MAX_TOKENS)} tokens`, {
        hint: 'Narrow the selection.',
      });
    }
    tokens.push(snapshotToken(token));
  }
  const rules = flags.finding === undefined ? '' : `, found by ${[...new Set(flags.finding)].join(', ')}`;
  return {
    ...{ format: 'tokenctl-tokens', version: 1, at, target: entryTarget(description) },
    selection: describeSelector(selector) + rules,
    notSeen: unseenPart(description, isByGroup(selection) ? {} : selector),
    tokens,
  };
}

function snapshotToken(token: Token): SnapshotToken {
  const { id, user, application, scope, description, created, expires, lastUsed } = token;
  return {
    ...{ id, user, application: application?.name ?? null, scope, description },
    ...{ created: created.toISOString(), expires: expires.toISOString() },
    ...(lastUsed !== undefined && { lastUsed: lastUsed?.toISOString() ?? null }),
  };
}

/**
 * Compares a snapshot with a later one, or with the current tokens.
 * @param request.idleFor In milliseconds, as for {@link compareTokens}.
 * @throws TokenctlError `configuration` for a file that is not a snapshot; `usage` for snapshots of different
 * controllers or selections; and as {@link selectTokens}.
 */
export async function tokenDiffFlow(
  request: SnapshotRequest & {
    readonly before: string;
    /** The later snapshot; undefined for now. */
    readonly after: string | undefined;
    readonly idleFor: number;
  },
): Promise<Report<TokenDiffJson>> {
  const before = readSnapshot(request.before);
  const after = request.after === undefined ? await taken(request) : readSnapshot(request.after);
  requireComparable(before, after);
  const tellsUse = [before, after].every(({ tokens }) => tokens.every((token) => 'lastUsed' in token));
  const changes = compareTokens(sideOf(before), sideOf(after), request.idleFor);
  const json = {
    ...{
      before: { at: before.at, notSeen: before.notSeen },
      after: { at: after.at, notSeen: after.notSeen },
    },
    ...{ selection: after.selection, tellsUse, changes },
  };
  const unseen = before.notSeen ?? after.notSeen;
  return report({
    json,
    document: diffDocument(json),
    failure:
      unseen === null
        ? undefined
        : new TokenctlError('partly_done', `Not everything was compared: ${unseen}`, {
            hint: 'Create both snapshots with an account that can see all tokens.',
          }),
  });
}

function sideOf({ at, tokens }: Snapshot) {
  return { at: new Date(at), tokens };
}

function readSnapshot(path: string): Snapshot {
  requireReadable(path, 'The snapshot');
  const found = statSync(path).size > MAX_BYTES ? undefined : schema.safeParse(jsonIn(path)).data;
  if (found !== undefined) return found;
  throw new TokenctlError('configuration', `${path} is not a snapshot of this version of tokenctl`, {
    hint: 'Create one with `tokenctl tokens snapshot`.',
  });
}

function requireComparable(before: Snapshot, after: Snapshot): void {
  const places = [before, after].map(({ target }) => target['installUuid'] ?? target['address']);
  const isOther = before.target['address'] !== after.target['address'] && places[0] !== places[1];
  const problem = isOther
    ? `of different controllers: ${before.target['address']} and ${after.target['address']}`
    : before.selection !== after.selection
      ? `of different selections: ${before.selection}, and ${after.selection}`
      : before.at > after.at
        ? 'in the wrong order: specify the earlier one first'
        : null;
  if (problem !== null) throw new TokenctlError('usage', `The snapshots are ${problem}`);
}

const TITLES: Readonly<Record<TokenChange, string>> = {
  new: 'New',
  gone: 'Gone',
  widened: 'Gained write access',
  newly_used: 'Used for the first time',
  newly_idle: 'Idle now',
};

function diffDocument({ before, after, selection, tellsUse, changes }: TokenDiffJson): Document {
  const period = `from ${secondText(before.at)} to ${secondText(after.at)}`;
  // If an account did not see everything, a token may have existed before, or may still exist.
  const titleOf = (change: TokenChange) =>
    change === 'new' && before.notSeen !== null
      ? 'Listed now, but not before'
      : change === 'gone' && after.notSeen !== null
        ? 'Listed before, but not now'
        : TITLES[change];
  const groups = CHANGES.flatMap((change) => {
    const tokens = changes.flatMap((each) => (each.change === change ? each.token : []));
    return tokens.length === 0 ? [] : [{ title: titleOf(change), tokens }];
  });
  return [
    lines(
      `${groups.length === 0 ? 'No changes' : 'Changes'} ${period} (${selection}).`,
      !tellsUse &&
        'Not compared: when tokens were used. Both snapshots must have been taken in a database context for that.',
    ),
    ...groups.flatMap(
      ({ title, tokens }): Document => [
        lines(`${title}: ${countText(tokens.length, 'token')} of ${ownersText(tokens)}.`),
        {
          kind: 'table',
          heads: ['Id', 'User', 'Application', 'Scope', 'Created', 'Description'],
          rows: tokens
            .slice(0, SHOWN)
            .map(({ id, user, application, scope, created, description }) => [
              ...[String(id), user?.username ?? '', application ?? '(personal)', scope],
              ...[secondText(created), description],
            ]),
        },
        tokens.length > SHOWN &&
          lines(`and ${numberText(tokens.length - SHOWN)} more. Use --json to see all.`),
      ],
    ),
  ];
}

const NAMED_OWNERS = 10;

/** The owners with their number of tokens, in descending order. */
function ownersText(tokens: readonly SnapshotToken[]): string {
  const counts = [...Map.groupBy(tokens, ({ user }) => user?.username ?? '(none)')]
    .map(([name, own]) => ({ name, count: own.length }))
    .sort((one, other) => other.count - one.count);
  const named = counts.slice(0, NAMED_OWNERS).map(({ name, count }) => `${name} (${numberText(count)})`);
  const more = counts.length - named.length;
  return more > 0 ? `${named.join(', ')} and ${countText(more, 'more', 'more')}` : named.join(', ');
}
