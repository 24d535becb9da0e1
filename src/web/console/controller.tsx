/** Which contexts are one controller, and which of them a page uses. */
import { Button } from '@patternfly/react-core';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import { type ReactNode, useState } from 'react';
import { useSearchParams } from 'react-router';
import type { Controller } from '../../console/controllers.ts';
import { type Problem, query, useAddress, useFacts, useGradually } from './api.ts';

/** How long the other contexts of a controller are waited for, in seconds. */
const PATIENCE_SECONDS = 5;

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
  const { data } = useGradually<{ readonly controllers: readonly Controller[] }>(
    '/api/controllers',
    ({ controllers }) => isLate(controllers),
  );
  if (kept?.key === key) return kept.chosen;
  const found =
    data === undefined || isLate(data.controllers) ? null : choiceIn(data.controllers, asked, isOnly);
  if (found !== null) setKept({ key, chosen: found });
  return found;
}

/** Whether a context is worth waiting for. */
function isLate(controllers: readonly Controller[]): boolean {
  return controllers.some(({ places }) =>
    places.some(({ waits }) => waits !== null && waits < PATIENCE_SECONDS),
  );
}

function choiceIn(controllers: readonly Controller[], asked: string, isOnly: boolean): ChosenPlace {
  const all = controllers.find(({ places }) => places.some(({ place }) => place === asked))?.places ?? [];
  const itself = all.find(({ place }) => place === asked);
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
  const rest = restContext === undefined ? '' : `; actions that require the REST API use ${restContext}`;
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
      Context <strong>{place}</strong> ({how}, which can see and end more than {instead}
      {rest}).{' '}
      <Button variant="link" isInline onClick={() => change({ only: instead })}>
        Use {instead} only
      </Button>
    </>
  );
}

/** What a controller answered to a question, read through one of its contexts. */
export interface Listed<T> {
  readonly place: string;
  readonly others: readonly string[];
  readonly list: {
    readonly value: T | null;
    readonly problem: Problem | null;
    readonly waits: number | null;
  };
}

/** What all controllers answer, read anew when the page is opened, and which of it the context of the masthead leaves. */
export function useEach<T>(path: string) {
  const { places } = useFacts();
  const [search] = useAddress();
  const filter = search.get('place');
  const asked = filter ?? places[0] ?? '';
  const chosen = usePlace(asked);
  const place = chosen?.place ?? asked;
  const read = useGradually<{ readonly controllers: readonly Listed<T>[] }>(
    query(path, { through: filter === null ? undefined : place }),
    ({ controllers }) => controllers.some(({ list }) => list.waits !== null),
    { isAnew: true },
  );
  const isIn = (each: Listed<T>) =>
    filter === null || each.place === place || [each.place, ...each.others].includes(filter);
  const all = read.data?.controllers ?? [];
  return {
    ...{ read, chosen, place },
    shown: all.filter(isIn),
    elsewhere: all.filter((each) => !isIn(each)),
    /** Whether the page is about one controller. */
    isOfOne: chosen !== null && (filter !== null || chosen.isAlone),
  };
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
