/** A token was stolen: whose, which, and when is asked here once, and goes on into the lockdown and its case. */
import { Button, PageSection, Spinner, TextInput } from '@patternfly/react-core';
import { type ReactNode, useDeferredValue, useState } from 'react';
import { Link, useLocation } from 'react-router';
import type { TokenPage } from '../../console/token-table.ts';
import { PlainTable } from '../shared/table.tsx';
import { countText } from '../shared/times.tsx';
import { type Json, query, useAddress, useFacts, useRead } from './api.ts';
import { PlaceNote, usePlace } from './controller.tsx';
import type { Draft } from './lockdown-draft.ts';
import { type KnownTheft, LockdownForm } from './lockdown-form.tsx';
import { Heading, Message, When } from './parts.tsx';

/** How often it is looked again while the tokens are read. */
const AGAIN_MS = 1_000;
const MOST_ROWS = 8;

export function TheftPage(): ReactNode {
  const { places } = useFacts();
  const [search, change] = useAddress();
  const user = search.get('user') ?? '';
  const application = search.get('application') ?? '';
  const of = search.get('of') ?? undefined;
  const name = user === '' ? application : user;
  const place = search.get('place');
  return (
    <>
      <Heading title={of === undefined ? 'A token was stolen' : `Stop ${name}, of the case ${of}`} />
      {name === '' ? (
        <Picker place={place} onPick={(picked) => change({ ...picked })} />
      ) : (
        <Picked
          key={`${place} ${name}`}
          asked={place ?? places[0] ?? ''}
          {...{ name, of }}
          scope={user === '' ? 'application' : 'user'}
          token={search.get('token')}
          onChange={change}
        />
      )}
    </>
  );
}

/** What was picked: the parameters of the page's address. */
type Pick = Readonly<Record<'place' | 'user' | 'application' | 'token', string | null>>;

type Row = Json<TokenPage['rows'][number]>;

/** Finds the account or the token by anything that people know of it. */
function Picker({
  place,
  onPick,
}: {
  /** Null for all controllers. */
  readonly place: string | null;
  readonly onPick: (picked: Pick) => void;
}): ReactNode {
  const { places } = useFacts();
  const [typed, setTyped] = useState('');
  const [isWaiting, setWaiting] = useState(false);
  /** The text of which the rows are shown before all are read. */
  const [early, setEarly] = useState('');
  const text = useDeferredValue(typed.trim());
  const where = place ?? undefined;
  const order = { sort: 'lastUsed', descending: 'true', limit: MOST_ROWS };
  const tokens = useRead<Json<TokenPage>>(
    text === '' ? null : query('/api/tokens', { place: where, text, ...order }),
    isWaiting && AGAIN_MS,
  );
  const { rows = [], readings = [], total = 0 } = tokens.data ?? {};
  const isReading = readings.some(({ state }) => state === 'reading');
  if (isReading !== isWaiting) setWaiting(isReading);
  const names = useRead<{ readonly names: readonly string[] }>(
    text === '' ? null : query('/api/names', { place: where ?? places[0], kind: 'users', text }),
  );
  // Rows that grow and move under the pointer are not chosen by mistake.
  const isWhole =
    tokens.data !== undefined && !isReading && (names.data !== undefined || names.error !== null);
  const isShown = text !== '' && (isWhole || tokens.error !== null || early === text);
  const severalPlaces = new Set(rows.map((row) => row.place)).size > 1;
  const accounts = accountsOf(rows, {
    names: names.data?.names ?? [],
    place: where ?? places[0] ?? '',
    text,
  });
  return (
    <PageSection className="stacked">
      <label htmlFor="theft-search">
        <strong>Whose token, or which?</strong> Name of the person, or description of the token
      </label>
      <TextInput
        id="theft-search"
        className="narrow"
        type="search"
        autoComplete="off"
        autoFocus
        value={typed}
        onChange={(_event, value) => setTyped(value)}
      />
      {text !== '' && (
        <>
          {isShown && (
            <PlainTable<Row | Account>
              label="What was found"
              rows={[...rows, ...accounts]}
              keyOf={(row) => ('id' in row ? `${row.place} ${row.id}` : `${row.place} ${row.account}`)}
              columns={[
                {
                  title: 'Account',
                  show: (row) => ('id' in row ? (row.user?.username ?? row.application?.name) : row.account),
                },
                {
                  title: 'Token',
                  show: (row) => ('id' in row ? tokenName(row) : <em>not known which</em>),
                },
                {
                  title: 'Last use',
                  show: (row) =>
                    'id' in row ? row.lastUsed === undefined ? 'not told' : <When at={row.lastUsed} /> : '',
                },
                ...(severalPlaces
                  ? [{ title: 'Controller', show: ({ place: each }: Row | Account) => each }]
                  : []),
                {
                  title: 'Choose',
                  isAction: true as const,
                  show: (row) => <PickButton row={row} onPick={onPick} />,
                },
              ]}
            />
          )}
          {isShown && total > rows.length && (
            <p>
              {countText(total - rows.length, 'more token')}: type the person as well, as in “bob laptop”.
            </p>
          )}
          {!isReading && rows.length + accounts.length === 0 && tokens.data !== undefined && (
            <p role="status">No token and no account with these words.</p>
          )}
          {isReading && (
            <p role="status">
              <Spinner size="md" aria-label="Reading" /> Reading tokens:{' '}
              {countText(
                readings.reduce((sum, each) => sum + each.tokens, 0),
                'token',
              )}{' '}
              so far.{' '}
              {!isShown && (
                <Button variant="link" isInline onClick={() => setEarly(text)}>
                  Show what is read
                </Button>
              )}
            </p>
          )}
          {[tokens.error, names.error].map(
            (error) =>
              error !== null && <Message key={error.message} variant="warning" title={error.message} />,
          )}
          {readings.map(
            ({ place: each, problem, incomplete }) =>
              (problem !== null || incomplete !== null) && (
                <Message
                  key={each}
                  variant="warning"
                  title={`${each}: ${problem?.message ?? incomplete ?? ''}`}
                />
              ),
          )}
        </>
      )}
    </PageSection>
  );
}

/** An account without saying which of its tokens. */
interface Account {
  readonly place: string;
  readonly account: string;
}

/** The accounts of the tokens that were found, and those that are called so. */
function accountsOf(
  rows: readonly Row[],
  {
    names,
    place,
    text,
  }: { readonly names: readonly string[]; readonly place: string; readonly text: string },
): readonly Account[] {
  const isCalled = (name: string) => name.toLowerCase().includes(text.toLowerCase());
  const owners = rows.flatMap((row): Account[] =>
    row.user !== null && isCalled(row.user.username)
      ? [{ place: row.place, account: row.user.username }]
      : [],
  );
  const known = new Set(owners.map(({ account }) => account));
  const others = names.filter((name) => !known.has(name)).map((account) => ({ place, account }));
  const all = new Map([...owners, ...others].map((each) => [`${each.place} ${each.account}`, each]));
  return [...all.values()].slice(0, MOST_ROWS);
}

function tokenName({ description, application, user, scope }: Row): string {
  const what = description === '' ? 'without a description' : `“${description}”`;
  const through = application === null || user === null ? '' : `, of ${application.name}`;
  return `${what}, ${scope}${through}`;
}

function PickButton({
  row,
  onPick,
}: {
  readonly row: Row | Account;
  readonly onPick: (picked: Pick) => void;
}): ReactNode {
  const { place } = row;
  const none = { place, user: null, application: null, token: null };
  if (!('id' in row)) {
    return (
      <Button
        variant="secondary"
        size="sm"
        aria-label={`Choose ${row.account}, token not known`}
        onClick={() => onPick({ ...none, user: row.account })}
      >
        Choose
      </Button>
    );
  }
  const { id, user, application } = row;
  const owner = user?.username ?? application?.name;
  // What nobody owns is no account to lock down.
  if (owner === undefined) return <Link to={query('/tokens', { place, text: String(id) })}>Revoke it</Link>;
  const picked = { ...none, token: String(id) };
  return (
    <Button
      variant="secondary"
      size="sm"
      aria-label={`Choose ${tokenName(row)} of ${owner}`}
      onClick={() => onPick(user === null ? { ...picked, application: owner } : { ...picked, user: owner })}
    >
      Choose
    </Button>
  );
}

/** The lockdown of the account that was picked. */
function Picked(props: {
  readonly asked: string;
  readonly name: string;
  readonly scope: KnownTheft['scope'];
  readonly token: string | null;
  readonly of: string | undefined;
  readonly onChange: (changes: Readonly<Record<string, string | null>>) => void;
}): ReactNode {
  const { asked, name, scope, token, of, onChange } = props;
  const chosen = usePlace(asked);
  const { state } = useLocation() as { readonly state: KnownTheft['known'] | null };
  const [draft, setDraft] = useState<Draft | undefined>(undefined);
  const stolen = useRead<Json<TokenPage>>(
    token === null || chosen === null
      ? null
      : query('/api/tokens', { place: chosen.place, text: token, limit: MOST_ROWS }),
  );
  const row = stolen.data?.rows.find(({ id }) => String(id) === token);
  return (
    <PageSection className="stacked">
      {of === undefined && (
        <p>
          <strong>{name}</strong>
          {token !== null && `: ${row === undefined ? `token ${token}` : tokenName(row)}`}
          {row?.lastUsed != null && (
            <>
              , last used <When at={row.lastUsed} />
            </>
          )}{' '}
          <Button
            variant="link"
            isInline
            onClick={() => onChange({ user: null, application: null, token: null })}
          >
            Choose another
          </Button>
        </p>
      )}
      {of !== undefined && (
        <p>
          A lockdown of its own, to be closed as well. What {name} did is found and cleaned in{' '}
          <Link to={query('/case', { place: asked, incident: of })}>{of}</Link>.
        </p>
      )}
      {chosen === null ? (
        <Spinner aria-label="Reading" />
      ) : (
        <>
          <LockdownForm
            key={chosen.place}
            place={chosen.place}
            user={name}
            others={chosen.others}
            draft={draft}
            theft={{ scope, of, token: token === null ? null : Number(token), known: state ?? {} }}
            onSwitch={(other, held) => {
              setDraft(held);
              onChange({ place: other, only: other });
            }}
          />
          {chosen.instead !== null && (
            <p className="hint">
              <PlaceNote chosen={chosen} />
            </p>
          )}
        </>
      )}
    </PageSection>
  );
}
