import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import type { Investigation } from '../../domain/investigation/investigation.ts';
import { timeText } from '../../reports/tables/text.ts';
import { parseMoment } from '../flags/times.ts';
import { incidentOf } from './investigate-flow.ts';

/** When actions became an intruder's, and how that is known. */
export interface TheftBeginning {
  readonly at: Date;
  /** A sentence for the plan. */
  readonly text: string;
}

/**
 * When the theft began: nothing earlier is cleaned. From --since; otherwise from the saved investigation; or
 * from the date in the incident's reason, which the plan names.
 * @throws TokenctlError `usage` if none of these has it.
 */
export async function theftBeginning(
  runtime: Runtime,
  known: { since: Date | undefined; saved: Investigation | undefined; incident: string | undefined },
): Promise<TheftBeginning> {
  const { since, saved } = known;
  const listed = saved === undefined ? undefined : new Date(saved.since);
  const id = known.incident ?? saved?.incident ?? null;
  const made = tokenMade(saved);
  const given = since ?? (saved?.begins === 'given' ? listed : undefined);
  if (given !== undefined) {
    const asked = later(given, listed);
    return made !== undefined && made >= asked
      ? beginning(made, ', when the stolen token was created')
      : beginning(asked);
  }
  const incident = id === null ? null : await incidentOf(runtime, id);
  const found = dateIn(incident?.reason ?? '');
  if (incident === null || found === undefined || found >= new Date(incident.since)) {
    throw new TokenctlError('usage', 'The start of the incident is not known', {
      hint: 'Add --since WHEN. Actions of the user before that are not cleaned.',
    });
  }
  const { at, text } = beginning(later(found, listed));
  return {
    at,
    text: `${text} The date is from the reason of ${incident.id}. Check it, or add --since WHEN.`,
  };
}

function beginning(at: Date, why = ''): TheftBeginning {
  return { at, text: `Cleans only actions since ${timeText(at)}${why}.` };
}

/** When the stolen token was created, by its saved investigation: nothing was done with it before. */
function tokenMade(saved: Investigation | undefined): Date | undefined {
  if (saved?.subject.kind !== 'token') return undefined;
  const owner = saved.chain.find(({ how }) => how === 'subject');
  return owner && new Date(owner.since);
}

/** A saved investigation lists nothing from before its own start. */
function later(one: Date, other: Date | undefined): Date {
  return other !== undefined && other > one ? other : one;
}

const DATES = /\b\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?\b/g;

function dateIn(text: string): Date | undefined {
  const [only, ...others] = new Set(text.match(DATES) ?? []);
  if (only === undefined || others.length > 0) return undefined;
  try {
    const moment = parseMoment(only);
    return 'at' in moment ? moment.at : undefined;
  } catch {
    return undefined;
  }
}
