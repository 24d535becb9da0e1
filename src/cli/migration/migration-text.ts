import type { NextStep, StoppingToken } from '../../domain/migration.ts';
import type { MigrationPlan } from '../../operations/migration/plan-migration.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { type Document, lines, list, type Part, would } from '../../reports/document.ts';
import { type Listing, listing, ownerColumn, timeColumn } from '../../reports/tables/listing.ts';
import { countText, dayText, printable, timeText } from '../../reports/tables/text.ts';
import { placeText } from '../change/plan-text.ts';

/** The text of each step, after the number of tokens. */
const STEPS: Readonly<Record<NextStep, string>> = {
  new_token: 'in use, need a gateway token',
  migrated: 'already have one that tokenctl created',
  no_account: 'in use, but the owner has no account on the gateway',
  inactive: 'belong to owners who are deactivated on the controller or the gateway',
  unused: 'not in use',
  application: 'belong to applications: their clients have to log in on the gateway',
  no_application:
    'belong to applications that do not exist on the gateway with the same name and organization',
};

/** The maximum number of names and tokens in a plan. */
const SHOWN = 20;

/** The plan of a migration. `place` is where the values are stored; empty if not given. */
export function migrationDocument(
  plan: MigrationPlan,
  options: { from: TargetDescription; to: TargetDescription; usedSince: Date; place: string },
): Document {
  const { from, to, usedSince, place } = options;
  const { tokens, counts, withoutAccount, applications, unknown } = plan;
  const twinless = applications.filter(({ twin }) => twin === null);
  const byName = applications.filter(({ by }) => by === 'name');
  const owners = new Map(
    tokens.flatMap(({ user, matchedBy }) => (user === null ? [] : [[user.id, matchedBy]])),
  );
  const matched = (by: string) => [...owners.values()].filter((each) => each === by).length;
  const needing = tokens.filter(({ next }) => next === 'new_token');
  return [
    lines(
      needing.length === 0
        ? `No token of ${from.context} needs a replacement.`
        : would`create ${countText(needing.length, 'token')} on ${to.context} to replace those in use on ${from.context}${place === '' ? '' : `, each in ${place}`}:`,
      placeText(from),
      placeText(to),
      `According to the documentation, ${countText(tokens.length, 'live token')} of ${from.context} stop working with version 2.7. "In use" means used since ${dayText(usedSince)}.`,
    ),
    {
      kind: 'counts',
      counts: Object.entries(STEPS).flatMap(([step, text]) =>
        counts[step as NextStep] === 0 ? [] : [[counts[step as NextStep], text] as const],
      ),
    },
    {
      kind: 'counts',
      title: 'Owners',
      counts: [
        [matched('resource_id'), "have an account with the platform's user ID"],
        [matched('name'), 'have an account with the same name'],
        [withoutAccount.length, 'have no account'],
      ],
    },
    lines(
      matched('name') > 0 && 'Check those matched by name: they may be different people.',
      withoutAccount.length > 0 && `Without an account: ${someNames(withoutAccount)}.`,
      twinless.length > 0 &&
        `Applications without a counterpart: ${someNames(twinless.map(({ name }) => name))}.`,
      byName.length > 0 &&
        `Found only by name because an organization is not known: ${someNames(byName.map(({ name }) => name))}.`,
      unknown.map((text) => `${text}.`),
    ),
    ...(needing.length === 0 ? [] : [tableOf(needing)]),
    lines(needing.length > SHOWN && list(`and ${needing.length - SHOWN} more (--json and --csv list all)`)),
  ];
}

/** The first of the tokens that need a new one. */
function tableOf(needing: readonly StoppingToken[]): Part {
  return {
    kind: 'table',
    heads: ['id', 'owner', 'account', 'matched by', 'last used'],
    rows: needing
      .slice(0, SHOWN)
      .map((token) => [
        String(token.id),
        printable.value(token.user?.username ?? ''),
        printable.value(token.account?.username ?? ''),
        matchText(token),
        lastUseText(token),
      ]),
  };
}

function someNames(names: readonly string[]): string {
  const more = names.length - SHOWN;
  return `${names.slice(0, SHOWN).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function matchText({ matchedBy }: StoppingToken): string {
  return matchedBy === 'resource_id' ? 'resource id' : (matchedBy ?? '');
}

function lastUseText({ lastUsed }: StoppingToken): string {
  if (lastUsed === undefined) return 'not known';
  return lastUsed === null ? 'never' : dayText(lastUsed);
}

/** All live tokens of the controller, for `--csv`. */
export function tokenListing(tokens: readonly StoppingToken[]): Listing<StoppingToken> {
  return listing({
    rows: tokens,
    columns: [
      { name: 'id', cell: ({ id }) => String(id) },
      ownerColumn<StoppingToken>(),
      { name: 'application', cell: ({ application }) => application?.name ?? '' },
      { name: 'scope', cell: ({ scope }) => scope },
      timeColumn<StoppingToken>('created', ({ created }) => created),
      timeColumn<StoppingToken>('expires', ({ expires }) => expires),
      {
        name: 'last_used',
        cell: ({ lastUsed }) => (lastUsed ? timeText(lastUsed) : lastUsed === null ? 'never' : ''),
      },
      { name: 'account', cell: ({ account }) => account?.username ?? '' },
      { name: 'matched_by', cell: ({ matchedBy }) => matchedBy ?? '' },
      { name: 'next', cell: ({ next }) => next },
      { name: 'new_token', cell: ({ newToken }) => String(newToken ?? '') },
      { name: 'description', cell: ({ description }) => description },
    ],
    json: (token) => token,
    none: 'No tokens.',
  });
}
