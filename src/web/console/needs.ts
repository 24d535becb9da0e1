/** What a controller needs somebody for: the reasons in words, the gravest first. */
import { countText } from '@tokenctl/common/web/times.tsx';
import { type ControllerRead, unreadText } from './api.ts';
import type { JobsRead } from './jobs.tsx';

/** The job that revokes by the policy. */
export type Sweep = JobsRead['jobs'][number];

/** One reason. */
export interface Need {
  readonly text: string;
  /** The higher, the sooner. */
  readonly weight: number;
  readonly isGrave: boolean;
}

/** A controller with what it needs. */
export interface ControllerState {
  readonly read: ControllerRead;
  /** Null without one; undefined while the jobs are read. */
  readonly sweep: Sweep | null | undefined;
  readonly needs: readonly Need[];
}

/** A token that expires within this time expires soon: two weeks, in milliseconds. */
export const SOON_MS = 14 * 86_400_000;

/** The sweep of a controller: of a platform, one of both components. Several: the one that ran last. */
export function sweepOf({ jobs }: JobsRead, places: readonly string[]): Sweep | null {
  const contexts = new Set(places.map((place) => place.split('/')[0]));
  const sweeps = jobs.filter(
    ({ kind, context }) => kind === 'revocation-sweep' && context !== null && contexts.has(context),
  );
  return (
    sweeps.toSorted((one, other) => (other.last?.began ?? '').localeCompare(one.last?.began ?? ''))[0] ?? null
  );
}

/** The reasons to look at a controller, from what is known of it by now. */
export function needsOf(read: ControllerRead, sweep: Sweep | null | undefined): readonly Need[] {
  const { context, incidents, audit } = read;
  const { value, problem } = context;
  const open = incidents.value?.open ?? [];
  const critical = audit.value?.bySeverity.critical ?? 0;
  const run = sweep?.last?.state;
  const own = value?.ownToken?.earliest;
  const expiresSoon = own !== undefined && Date.parse(own) < Date.now() + SOON_MS;
  const reasons: readonly (readonly [weight: number, text: string | false | undefined])[] = [
    [9, problem !== null && unreadText(problem)],
    [8, open.some(({ holds }) => holds === false) && 'lockdown not in effect'],
    [7, open.some(({ isOverdue }) => isOverdue) && 'lockdown overdue'],
    [6, critical > 0 && countText(critical, 'critical finding')],
    [5, (run === 'failed' || run === 'lost') && `sweep ${run}`],
    [4, expiresSoon && 'own token expires soon'],
    [3, open.length > 0 && `${open.length} ${open.length === 1 ? 'incident' : 'incidents'} open`],
    [2, problem === null && incidents.problem !== null && 'incidents not read'],
    [2, audit.problem !== null && 'not audited'],
    [1, value !== null && value.incomplete !== null && 'its account does not see all tokens'],
  ];
  return reasons.flatMap(([weight, text]) =>
    typeof text === 'string' ? [{ text, weight, isGrave: weight >= GRAVE }] : [],
  );
}

/** From this weight on, somebody has to act now. */
const GRAVE = 5;
