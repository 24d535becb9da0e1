/** A stolen token: account, token and time are asked once, and passed on to the lockdown and its case. */
import { Button, PageSection, Spinner } from '@patternfly/react-core';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { type ReactNode, useState } from 'react';
import { Link, useLocation } from 'react-router';
import type { TokenPage } from '../../../console/tokens/token-table.ts';
import { type Json, query, useAddress, useFacts, useRead } from '../api.ts';
import { PlaceNote, usePlace } from '../controller.tsx';
import type { Draft, KnownTheft } from '../lockdown/lockdown-draft.ts';
import { LockdownForm } from '../lockdown/lockdown-form.tsx';
import { When } from '../parts.tsx';
import { TheftSearch, tokenName } from './theft-search.tsx';

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
      <PageHeading title={of === undefined ? 'A token was stolen' : `Stop ${name}, in the case ${of}`} />
      {name === '' ? (
        <TheftSearch place={place} onPick={(picked) => change({ ...picked })} />
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

/** For an element that replaces a focused button. */
function takeFocus(element: HTMLElement | null): void {
  if (document.activeElement === document.body) element?.focus();
}

/** The lockdown of the chosen account. */
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
        <p ref={takeFocus} tabIndex={-1}>
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
          A separate incident, which can end with the case. What {name} did is cleaned in{' '}
          <Link className="incident-id" to={query('/case', { place: asked, incident: of })}>
            {of}
          </Link>
          .
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
            theft={{
              ...{ scope, of, token: token === null ? null : Number(token) },
              ...{ made: row?.created ?? null, known: state ?? {} },
            }}
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
