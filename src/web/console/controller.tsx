/** Which contexts are one controller, and which of them a page uses. */
import { Button } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { useSearchParams } from 'react-router';
import type { Controller } from '../../console/controllers.ts';
import { useRead } from './api.ts';

/** What is known of all controllers; undefined while it is read. */
export function useControllers(): readonly Controller[] | undefined {
  return useRead<{ readonly controllers: readonly Controller[] }>('/api/controllers').data?.controllers;
}

/** The context that a page uses, and the others of the same controller. */
export interface ChosenPlace {
  readonly place: string;
  readonly via: 'database' | 'rest' | null;
  /** The context that was asked for, if another one is used. */
  readonly instead: string | null;
  /** The REST context beside a database, for what takes the REST API. */
  readonly restContext: string | undefined;
}

/**
 * The context that sees and can do the most of the controller of another one, unless that is to be used itself; null while it is
 * not known.
 */
export function usePlace(asked: string): ChosenPlace | null {
  const controllers = useControllers();
  const [search] = useSearchParams();
  if (controllers === undefined) return null;
  const all = controllers.find(({ places }) => places.some(({ place }) => place === asked))?.places ?? [];
  const best = all.find(({ via }) => via !== null);
  const isAsked = search.get('only') === asked || best === undefined;
  const used = isAsked ? all.find(({ place }) => place === asked) : best;
  const place = used?.place ?? asked;
  const via = used?.via ?? null;
  // The name of a component of a platform is no context of a command.
  const rest = all.find((each) => each.via === 'rest' && !each.place.includes('/'));
  return {
    place,
    via,
    instead: place === asked ? null : asked,
    restContext: via === 'database' ? rest?.place : undefined,
  };
}

/** Says which context is used where another one was asked for, and offers that one. */
export function PlaceNote({ chosen }: { readonly chosen: ChosenPlace }): ReactNode {
  const [, setSearch] = useSearchParams();
  const { place, via, instead, restContext } = chosen;
  if (via === null) return <>Context {place}.</>;
  const how = via === 'database' ? 'the database' : 'the REST API';
  if (instead === null) {
    return (
      <>
        Through the context <strong>{place}</strong> ({how}
        {restContext !== undefined && `; what takes the REST API goes through ${restContext}`}).
      </>
    );
  }
  return (
    <>
      Through the context <strong>{place}</strong>: {how} of the same controller as {instead}, which sees and
      ends more
      {restContext !== undefined && `; what takes the REST API goes through ${restContext}`}.{' '}
      <Button
        variant="link"
        isInline
        onClick={() =>
          setSearch((before) => {
            before.set('only', instead);
            return before;
          })
        }
      >
        Use {instead} only
      </Button>
    </>
  );
}
