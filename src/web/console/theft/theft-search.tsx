/** Finds the account or the token of a theft by anything known about it, at all controllers. */
import { Button, PageSection, Spinner, TextInput } from '@patternfly/react-core';
import { PlainTable } from '@tokenctl/common/web/table.tsx';
import { countText, isNever } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useDeferredValue, useState } from 'react';
import { Link } from 'react-router';
import type { AccountsRead } from '../../../console/names.ts';
import type { TokenPage } from '../../../console/tokens/token-table.ts';
import { type Json, query, useGradually } from '../api.ts';
import { Message, When } from '../parts.tsx';
import { isLikeValue, type OnPick, ValueSearch } from '../tokens/token-value.tsx';

const MOST_ROWS = 8;
/** The maximum length of a name or a description to search for. */
const MAX_TEXT = 200;

type Row = Json<TokenPage['rows'][number]>;

export function TheftSearch(props: {
  /** Null for all controllers. */
  readonly place: string | null;
  readonly onPick: OnPick;
}): ReactNode {
  const { place, onPick } = props;
  const [typed, setTyped] = useState('');
  /** A text that looks like a secret but is a name. */
  const [name, setName] = useState('');
  const deferred = useDeferredValue(typed.trim());
  const isValue = isLikeValue(typed) && typed.trim() !== name;
  // A possible secret is never part of a URL, and neither is text typed just before.
  const text = isValue || deferred !== typed.trim() || deferred.length > MAX_TEXT ? '' : deferred;
  return (
    <PageSection className="stacked">
      <label htmlFor="theft-search">
        <strong>User or token</strong> User name or description
      </label>
      <TextInput
        id="theft-search"
        className={isValue ? 'narrow masked' : 'narrow'}
        type="search"
        autoComplete="off"
        spellCheck={false}
        autoFocus
        value={typed}
        onChange={(_event, value) => setTyped(value)}
      />
      {isValue ? (
        <ValueSearch
          key={typed}
          place={place}
          text={typed}
          onName={() => setName(typed.trim())}
          onClear={() => setTyped('')}
          onPick={onPick}
        />
      ) : typed.trim().length > MAX_TEXT ? (
        <p role="status">Too long for a name or a description. Maximum: {MAX_TEXT} characters.</p>
      ) : (
        text !== '' && <Found place={place} text={text} onPick={onPick} onName={setTyped} />
      )}
    </PageSection>
  );
}

/** The matches for a text, shown after everything is read, so that rows do not move under the pointer. */
function Found(props: {
  readonly place: string | null;
  readonly text: string;
  readonly onPick: OnPick;
  /** Searches for another name instead. */
  readonly onName: (name: string) => void;
}): ReactNode {
  const { place, text, onPick, onName } = props;
  /** The text whose rows are shown before everything is read. */
  const [early, setEarly] = useState('');
  const where = place ?? undefined;
  const order = { sort: 'lastUsed', descending: 'true', limit: MOST_ROWS };
  const tokens = useGradually<Json<TokenPage>>(
    query('/api/tokens', { place: where, text, ...order }),
    ({ readings }) => readings.some(({ state }) => state === 'reading'),
  );
  const users = useGradually<{ readonly accounts: readonly AccountsRead[] }>(
    query('/api/accounts', { place: where, text }),
    ({ accounts }) => isAnyOpen(accounts),
  );
  // Results for another text are not shown under this one.
  const page = tokens.isPlaceholderData ? undefined : tokens.data;
  const named = users.isPlaceholderData ? undefined : users.data?.accounts;
  const { rows = [], readings = [], total = 0 } = page ?? {};
  const isOpen = named !== undefined && isAnyOpen(named);
  const isReading = isOpen || readings.some(({ state }) => state === 'reading');
  const errors = [tokens.error, users.error].filter((error) => error !== null);
  const isWhole = page !== undefined && !isReading && (named !== undefined || users.error !== null);
  const isShown = isWhole || errors.length > 0 || early === text;
  const accounts = accountsOf(rows, named ?? [], text);
  const found = [...rows, ...accounts];
  const problems = problemsIn(readings, named ?? []);
  // Tokens and users are read separately: results may be from more controllers than either knows.
  const isOfSeveral = new Set([...readings, ...found].map((each) => each.place)).size > 1;
  return (
    <>
      {isShown && found.length > 0 && <FoundTable rows={found} isOfSeveral={isOfSeveral} onPick={onPick} />}
      {isShown && total > rows.length && (
        <p>{countText(total - rows.length, 'more token')}: add a word, as in “bob laptop”.</p>
      )}
      {isWhole && found.length === 0 && (
        <NoneFound
          isAllRead={problems.length + errors.length === 0}
          near={nearIn(named ?? [])}
          onName={onName}
        />
      )}
      {!isWhole && errors.length === 0 && (
        <p role="status">
          <Spinner size="md" aria-label="Reading" />{' '}
          {isReading && `Reading tokens: ${countText(sumOf(readings), 'token')} so far. `}
          {isReading && !isShown && (
            <Button variant="link" isInline onClick={() => setEarly(text)}>
              Show results so far
            </Button>
          )}
        </p>
      )}
      {[...new Set([...errors.map(({ message }) => message), ...problems])].map((title) => (
        <Message key={title} variant="warning" title={title} />
      ))}
    </>
  );
}

function sumOf(readings: Json<TokenPage>['readings']): number {
  return readings.reduce((sum, each) => sum + each.tokens, 0);
}

function NoneFound(props: {
  /** Whether each controller answered, with an account that sees everything. */
  readonly isAllRead: boolean;
  readonly near: readonly string[];
  readonly onName: (name: string) => void;
}): ReactNode {
  const { isAllRead, near, onName } = props;
  return (
    <p role="status">
      {isAllRead ? 'No matching token or account.' : 'Nothing found in what was read.'}
      {near.map((name) => (
        <span key={name}>
          {' '}
          Did you mean{' '}
          <Button variant="link" isInline onClick={() => onName(name)}>
            {name}
          </Button>
          ?
        </span>
      ))}
    </p>
  );
}

function FoundTable(props: {
  readonly rows: readonly (Row | Account)[];
  /** Whether there are several controllers: each may have a user of the same name. */
  readonly isOfSeveral: boolean;
  readonly onPick: OnPick;
}): ReactNode {
  const { rows, isOfSeveral, onPick } = props;
  return (
    <PlainTable<Row | Account>
      label="Findings"
      rows={rows}
      keyOf={(row) => ('id' in row ? `${row.place} ${row.id}` : `${row.place} ${row.account}`)}
      columns={[
        {
          title: 'Account',
          show: (row) => ('id' in row ? (row.user?.username ?? row.application?.name) : row.account),
        },
        ...(isOfSeveral ? [{ title: 'Controller', show: ({ place }: Row | Account) => place }] : []),
        {
          title: 'Token',
          show: (row) =>
            'id' in row ? (
              <>
                {row.id}: {tokenName(row)}
                <div className="hint">
                  created <When at={row.created} />,{' '}
                  {isNever(row.expires) ? (
                    'never expires'
                  ) : (
                    <>
                      expires <When at={row.expires} />
                    </>
                  )}
                </div>
              </>
            ) : (
              <em>not known which</em>
            ),
        },
        {
          title: 'Last use',
          show: (row) =>
            'id' in row ? row.lastUsed === undefined ? 'unknown' : <When at={row.lastUsed} /> : '',
        },
        {
          title: 'Choose',
          isAction: true as const,
          show: (row) => <PickButton row={row} isOfSeveral={isOfSeveral} onPick={onPick} />,
        },
      ]}
    />
  );
}

/** What was not read, so that missing results are not mistaken for none: one sentence per controller. */
function problemsIn(readings: Json<TokenPage>['readings'], named: readonly AccountsRead[]) {
  const ofTokens = readings.flatMap(({ place, state, tokens, problem, incomplete }) => {
    if (problem !== null) return [{ place, text: problem.message }];
    if (incomplete !== null) return [{ place, text: incomplete }];
    return state === 'cut'
      ? [{ place, text: `only the first ${countText(tokens, 'token')} were searched` }]
      : [];
  });
  const known = new Set(ofTokens.map(({ place }) => place));
  const ofUsers = named.flatMap(({ place, problem }) =>
    problem === null || known.has(place) ? [] : [{ place, text: `users not read: ${problem.message}` }],
  );
  return [...ofTokens, ...ofUsers].map(({ place, text }) => `${place}: ${text}`);
}

/** Whether the users of a controller are still being searched. */
function isAnyOpen(named: readonly AccountsRead[]): boolean {
  return named.some(({ names, problem }) => names === null && problem === null);
}

function nearIn(named: readonly AccountsRead[]): readonly string[] {
  return [...new Set(named.flatMap(({ near }) => near ?? []))].slice(0, 3);
}

/** An account, without a specific token. */
interface Account {
  readonly place: string;
  readonly account: string;
}

/** The accounts of the found tokens, and those with a matching name, for each controller. */
function accountsOf(rows: readonly Row[], named: readonly AccountsRead[], text: string): readonly Account[] {
  const isCalled = (name: string) => name.toLowerCase().includes(text.toLowerCase());
  const owners = rows.flatMap((row): Account[] =>
    row.user !== null && isCalled(row.user.username)
      ? [{ place: row.place, account: row.user.username }]
      : [],
  );
  const others = named.flatMap(({ place, names }) => (names ?? []).map((account) => ({ place, account })));
  const all = new Map([...owners, ...others].map((each) => [`${each.place} ${each.account}`, each]));
  const isExact = ({ account }: Account) => Number(account.toLowerCase() === text.toLowerCase());
  return [...all.values()]
    .toSorted((one, other) => isExact(other) - isExact(one))
    .slice(0, Math.max(MOST_ROWS, named.length));
}

export function tokenName({ description, application, user, scope }: Row): string {
  const what = description === '' ? 'without a description' : `“${description}”`;
  const through = application === null || user === null ? '' : `, of ${application.name}`;
  return `${what}, ${scope}${through}`;
}

function PickButton(props: {
  readonly row: Row | Account;
  readonly isOfSeveral: boolean;
  readonly onPick: OnPick;
}): ReactNode {
  const { row, isOfSeveral, onPick } = props;
  const { place } = row;
  const none = { place, user: null, application: null, token: null };
  const at = isOfSeveral ? ` at ${place}` : '';
  if (!('id' in row)) {
    return (
      <Button
        variant="secondary"
        size="sm"
        aria-label={`Select ${row.account}${at}, token not known`}
        onClick={() => onPick({ ...none, user: row.account })}
      >
        Choose
      </Button>
    );
  }
  const { id, user, application } = row;
  const owner = user?.username ?? application?.name;
  // A token without an owner has no account to lock down.
  if (owner === undefined) return <Link to={query('/tokens', { place, id: String(id) })}>Revoke it</Link>;
  const picked = { ...none, token: String(id) };
  return (
    <Button
      variant="secondary"
      size="sm"
      aria-label={`Select token ${id} of ${owner}${at}: ${tokenName(row)}`}
      onClick={() => onPick(user === null ? { ...picked, application: owner } : { ...picked, user: owner })}
    >
      Choose
    </Button>
  );
}
