/** A token's value that someone has: finds its owner, without the value in a URL, a history or a log. */
import { Button } from '@patternfly/react-core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { Controller } from '../../../console/controllers.ts';
import type { ValueRead } from '../../../console/tokens/token-values.ts';
import { call, query, useRead } from '../api.ts';
import { OwnCommand } from '../commands.tsx';
import { Message } from '../parts.tsx';

/** The choice, as parameters of the page's URL. */
type Pick = Readonly<Record<'place' | 'user' | 'application' | 'token', string | null>>;

export type OnPick = (picked: Pick) => void;

/** As long as the shortest secrets of common systems; longer than the words of names. */
const LEAST = 20;
const RUN = new RegExp(`[A-Za-z0-9]{${LEAST},}`, 'g');

/** Whether a text has a word unlike a name: a long run of letters in both cases, or letters with digits. */
export function isLikeValue(text: string): boolean {
  return (text.match(RUN) ?? []).some(
    (word) => [/[a-z]/, /[A-Z]/, /\d/].filter((kind) => kind.test(word)).length > 1,
  );
}

/** Looks a value up in databases, by its hash. The REST API would need the value: a command asks for that. */
export function ValueSearch(props: {
  /** Null for all controllers. */
  readonly place: string | null;
  readonly text: string;
  /** Called if it is not a secret. */
  readonly onName: () => void;
  readonly onClear: () => void;
  readonly onPick: OnPick;
}): ReactNode {
  const { place, text, onName, onClear, onPick } = props;
  const read = useRead<{ readonly controllers: readonly Controller[] }>('/api/controllers');
  const targets = (read.data?.controllers ?? [])
    .filter(({ places }) => place === null || places.some((each) => each.place === place))
    .flatMap(({ places: [first] }) => first ?? []);
  const find = useMutation({
    mutationFn: async (where: string) => ({
      where,
      ...(await call<ValueRead>('/api/tokens/value', { body: { place: where, text } })),
    }),
    // The value is not kept longer than its answer.
    gcTime: 0,
  });
  return (
    <Message
      isLiveRegion
      variant="info"
      title="This looks like a token value, so it is not searched for as text."
    >
      <div className="buttons">
        {targets.flatMap(({ place: where, via }) =>
          via === 'database' ? (
            <Button
              key={where}
              variant="secondary"
              size="sm"
              isLoading={find.isPending && find.variables === where}
              onClick={() => find.mutate(where)}
            >
              Find its owner in {where}
            </Button>
          ) : (
            []
          ),
        )}
        <Button variant="link" size="sm" onClick={onClear}>
          Clear it
        </Button>
        <Button variant="link" size="sm" onClick={onName}>
          It is a name
        </Button>
      </div>
      {targets.map(({ place: where, via }) =>
        via === 'rest' ? (
          <div key={where} className="found-owner">
            {where} has no database context. Run this command, and paste the value there.
            <OwnCommand words="tokens find --leaked -" place={where} />
          </div>
        ) : (
          via === null && <p key={where}>{where}: not reachable.</p>
        ),
      )}
      {find.error !== null && (
        <p className="found-owner" role="alert">
          {find.error.message}
        </p>
      )}
      {find.data !== undefined && <Owners {...find.data} onPick={onPick} />}
    </Message>
  );
}

function Owners({ where, found, onPick }: ValueRead & { where: string; onPick: OnPick }): ReactNode {
  if (found.length === 0) {
    return (
      <p className="found-owner" role="status">
        {`No token in ${where} has this value.`}
      </p>
    );
  }
  return found.map(({ kind, ids, user, live }) => {
    const [id, ...others] = ids;
    const isOne = kind === 'access_token' && id !== undefined && others.length === 0;
    const what = kind === 'refresh_token' ? 'a refresh token' : isOne ? `token ${id}` : 'a token';
    return (
      <p key={`${kind} ${ids.join(' ')}`} className="found-owner" role="status">
        {`It is ${what} of ${user ?? 'nobody'} at ${where}${live ? '' : ', no longer accepted'}. `}
        {user !== null ? (
          <Button
            variant="primary"
            size="sm"
            onClick={() =>
              onPick({ place: where, user, application: null, token: isOne ? String(id) : null })
            }
          >
            Choose {user}
          </Button>
        ) : (
          isOne && <Link to={query('/tokens', { place: where, id: String(id) })}>Revoke it</Link>
        )}
      </p>
    );
  });
}
