/** Which contexts are the same controller, and which of them a page uses. */
import { Button } from '@patternfly/react-core';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import { type ReactNode, useState } from 'react';
import { useSearchParams } from 'react-router';
import type { Controller } from '../../console/controllers.ts';
import { type Problem, query, useAddress, useFacts, useGradually } from './api.ts';

/** How long to wait for the other contexts of a controller, in seconds. */
const PATIENCE_SECONDS = 5;

/** The context that a page uses, and the others of the same controller. */
export interface ChosenPlace {
  readonly place: string;
  readonly via: 'database' | 'rest' | null;
  /** The requested context, if another one is used. */
  readonly instead: string | null;
  /** The REST context of the same controller as a database, for what needs the REST API. */
  readonly restContext: string | undefined;
  /** The other contexts of the same controller that answered. */
  readonly others: readonly string[];
  readonly isAlone: boolean;
}

/**
 * The context of the same controller that sees and can do the most, unless the requested one must be used;
 * null while unknown. Once chosen it does not change, whatever answers later: a form must not change its
 * target.
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
  // The name of a platform's component is not a context for commands.
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

/** A note about which context is used instead of the requested one, with an offer to use that. */
export function PlaceNote({ chosen }: { chosen: ChosenPlace }): ReactNode {
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

/** A controller's answer to a query, read in one of its contexts. */
export interface Listed<T> {
  readonly place: string;
  readonly others: readonly string[];
  readonly list: {
    readonly value: T | null;
    readonly problem: Problem | null;
    readonly waits: number | null;
  };
}

/** The answers of all controllers, re-read when the page opens, and those for the masthead's context. */
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

/** The context of the page, or all; not shown in a console with one context. */
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
