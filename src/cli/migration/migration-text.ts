import type { NextStep, StoppingToken } from '../../domain/migration.ts';
import type { MigrationPlan } from '../../operations/migration/plan-migration.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { type Document, lines, list, type Part, would } from '../../reports/document.ts';
import { type Listing, listing, ownerColumn, timeColumn } from '../../reports/tables/listing.ts';
import { countText, dayText, printable, timeText } from '../../reports/tables/text.ts';
import { placeText } from '../change/plan-text.ts';

/** What each step is, as the end of a line that begins with the number of tokens. */
const STEPS: Readonly<Record<NextStep, string>> = {
  new_token: 'in use, need a token of the gateway',
  migrated: 'have one already, which tokenctl made',
  no_account: 'in use, of owners without an account on the gateway',
  inactive: 'of owners who are deactivated, here or there',
  unused: 'not in use',
  application: 'of applications: their clients have to log in on the gateway',
  no_application: 'of applications without one of this name and organization on the gateway',
};

/** How many names and tokens a plan shows. */
const SHOWN = 20;

/** The plan of a migration. `place` is where the values go; empty where that is not said. */
export function migrationDocument(
  plan: MigrationPlan,
  {
    from,
    to,
    usedSince,
    place,
  }: {
    readonly from: TargetDescription;
    readonly to: TargetDescription;
    readonly usedSince: Date;
    readonly place: string;
  },
): Document {
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
        ? `No token of ${from.context} needs a new one.`
        : would`make ${countText(needing.length, 'token')} on ${to.context} to replace those in use on ${from.context}${place === '' ? '' : `, each into ${place}`}:`,
      placeText(from),
      placeText(to),
      `By the documentation of 2.7, ${countText(tokens.length, 'living token')} of ${from.context} stop with it. In use: since ${dayText(usedSince)}.`,
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
        [matched('resource_id'), "have the account with the platform's id of the user"],
        [matched('name'), 'have the account of the same name'],
        [withoutAccount.length, 'have no account'],
      ],
    },
    lines(
      matched('name') > 0 && 'Look at those of the same name: they may be different people.',
      withoutAccount.length > 0 && `Without an account: ${someNames(withoutAccount)}.`,
      twinless.length > 0 && `Applications without a twin: ${someNames(twinless.map(({ name }) => name))}.`,
      byName.length > 0 &&
        `Found by name only, since an organization is not known: ${someNames(byName.map(({ name }) => name))}.`,
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

/** All living tokens of the controller, for `--csv`. */
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
