/** Which contexts are one controller, and which of them a page uses. */
import { Button } from '@patternfly/react-core';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import { type ReactNode, useState } from 'react';
import { useSearchParams } from 'react-router';
import type { Controller } from '../../console/controllers.ts';
import { useAddress, useFacts, useRead } from './api.ts';

/** How often a context that has not answered is asked for. */
const AGAIN_MS = 1_000;
/** How long the other contexts of a controller are waited for, in seconds. */
const PATIENCE_SECONDS = 5;

/** What is known of all controllers; undefined while it is read. */
function useControllers(isWaiting: boolean): readonly Controller[] | undefined {
  const read = useRead<{ readonly controllers: readonly Controller[] }>(
    '/api/controllers',
    isWaiting && AGAIN_MS,
  );
  return read.data?.controllers;
}

/** The context that a page uses, and the others of the same controller. */
export interface ChosenPlace {
  readonly place: string;
  readonly via: 'database' | 'rest' | null;
  /** The context that was asked for, if another one is used. */
  readonly instead: string | null;
  /** The REST context beside a database, for what takes the REST API. */
  readonly restContext: string | undefined;
  /** The other contexts of the same controller that answered. */
  readonly others: readonly string[];
  /** Whether the console has no other controller. */
  readonly isAlone: boolean;
}

/**
 * The context that sees and can do the most of the controller of another one, unless that is to be used itself; null while it is
 * not known. Once it is chosen it stays, whatever answers later: a form must not change its target.
 */
export function usePlace(asked: string): ChosenPlace | null {
  const [search] = useSearchParams();
  const isOnly = search.get('only') === asked;
  const key = `${asked} ${isOnly}`;
  const [kept, setKept] = useState<{ readonly key: string; readonly chosen: ChosenPlace } | null>(null);
  const isKept = kept?.key === key;
  const controllers = useControllers(!isKept);
  if (isKept) return kept.chosen;
  const found = controllers === undefined ? null : choiceIn(controllers, asked, isOnly);
  if (found !== null) setKept({ key, chosen: found });
  return found;
}

function choiceIn(controllers: readonly Controller[], asked: string, isOnly: boolean): ChosenPlace | null {
  const all = controllers.find(({ places }) => places.some(({ place }) => place === asked))?.places ?? [];
  const isLate = controllers.some(({ places }) =>
    places.some(({ waits }) => waits !== null && waits < PATIENCE_SECONDS),
  );
  const itself = all.find(({ place }) => place === asked);
  if (isLate) return null;
  const best = all.find(({ via }) => via !== null);
  const used = isOnly || best === undefined ? itself : best;
  const place = used?.place ?? asked;
  const via = used?.via ?? null;
  // The name of a component of a platform is no context of a command.
  const answering = all.filter((each) => each.via !== null && !each.place.includes('/'));
  const rest = answering.find((each) => each.via === 'rest');
  return {
    place,
    via,
    instead: place === asked ? null : asked,
    restContext: via === 'database' ? rest?.place : undefined,
    others: answering.filter((each) => each.place !== place).map((each) => each.place),
    isAlone: controllers.length === 1,
  };
}

/** Says which context is used where another one was asked for, and offers that one. */
export function PlaceNote({ chosen }: { readonly chosen: ChosenPlace }): ReactNode {
  const [, change] = useAddress();
  const { place, via, instead, restContext } = chosen;
  if (via === null) return <>Context {place}.</>;
  const how = via === 'database' ? 'the database' : 'the REST API';
  const rest = restContext === undefined ? '' : `; what takes the REST API goes through ${restContext}`;
  if (instead === null) {
    return (
      <>
        Context <strong>{place}</strong> ({how}
        {rest}).
      </>
    );
  }
  return (
    <>
      Context <strong>{place}</strong> ({how}, which sees and ends more than {instead}
      {rest}).{' '}
      <Button variant="link" isInline onClick={() => change({ only: instead })}>
        Use {instead} only
      </Button>
    </>
  );
}

/** The context that the page is about, or all; none of a console of one. */
export function ContextFilter(): ReactNode {
  const { places } = useFacts();
  const [search, change] = useAddress();
  return (
    places.length > 1 && (
      <Choice
        aria-label="Context"
        value={search.get('place') ?? ''}
        options={[['', 'All contexts'], ...places]}
        onChange={(place) => change({ place, only: null })}
      />
    )
  );
}
