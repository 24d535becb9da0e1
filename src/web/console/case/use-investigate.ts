/** Begins investigations, from any place on the page. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../api.ts';

const DAY_MS = 86_400_000;
/** How soon after its start an investigation is read. */
const SOON_MS = 300;

/** The id of the form: buttons elsewhere on the page submit it. */
export const INVESTIGATE_FORM = 'investigate-form';

/** The owner of a token, or a user; neither if the incident is about one. */
export interface Asked {
  readonly token?: number;
  readonly user?: string;
}

/** @param of.incident Undefined for an investigation without a case. */
export function useInvestigate({ place, incident }: { place: string; incident?: string }) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ since, asked }: { since: Date; asked: Asked }) =>
      call(incident === undefined ? '/api/investigations' : '/api/case/investigation', {
        body: { place, incident, since: since.toISOString(), ...asked },
      }),
    onMutate: () => setTimeout(() => void queries.invalidateQueries(), SOON_MS),
    onSettled: () => queries.invalidateQueries(),
  });
}

/** The default start of an investigation: a day before the lockdown. */
export function beginningAt(locked: string): Date {
  return new Date(Date.parse(locked) - DAY_MS);
}
