/** Why a controller needs attention: the reasons in words, most serious first. */
import { countText } from '@tokenctl/common/web/times.tsx';
import { type ContextRead, type ControllerRead, patternOf, query, unreadText } from './api.ts';
import type { JobsRead } from './jobs.tsx';

/** The job that revokes by the policy. */
export type Sweep = JobsRead['jobs'][number];

export interface Need {
  readonly text: string;
  /** What to do about it, and the page for that. */
  readonly act: string;
  readonly to: string;
  /** Higher means more urgent. */
  readonly weight: number;
  readonly isGrave: boolean;
}

export interface ControllerState {
  readonly read: ControllerRead;
  /** Null without one; undefined while the jobs are read. */
  readonly sweep: Sweep | null | undefined;
  readonly needs: readonly Need[];
}

/** A token with less time left expires soon: two weeks, in milliseconds. */
export const SOON_MS = 14 * 86_400_000;

/** The sweep of a controller, or of a platform's component. If there are several, the last to run. */
export function sweepOf({ jobs }: JobsRead, places: readonly string[]): Sweep | null {
  const contexts = new Set(places.map((place) => place.split('/')[0]));
  const sweeps = jobs.filter(
    ({ kind, context }) => kind === 'revocation-sweep' && context !== null && contexts.has(context),
  );
  return (
    sweeps.toSorted((one, other) => (other.last?.began ?? '').localeCompare(one.last?.began ?? ''))[0] ?? null
  );
}

/** The reasons why a controller needs attention, from what is known so far. */
export function needsOf(read: ControllerRead, sweep: Sweep | null | undefined): readonly Need[] {
  const { place, context, incidents, audit } = read;
  const { value, problem } = context;
  const open = incidents.value?.open ?? [];
  const critical = audit.value?.bySeverity.critical ?? 0;
  const own = value?.ownToken?.earliest;
  const expiresSoon = own !== undefined && Date.parse(own) < Date.now() + SOON_MS;
  const card = query('/', { place });
  const ofIncidents = open.flatMap(({ id, holds, isOverdue }) => {
    const to = query('/case', { place, incident: id });
    return [
      holds === false && needOf(8, `lockdown ${id} not in effect`, 'Open the case', to),
      isOverdue && needOf(7, `lockdown ${id} overdue`, 'Lift it', to),
    ];
  });
  const plain = open.filter(({ holds, isOverdue }) => holds !== false && !isOverdue);
  const [only] = plain;
  const audited = (more: object) => query('/audit', { place, ...more });
  return [
    problem !== null && needOf(9, unreadText(problem), 'Show why', card),
    ...ofIncidents,
    critical > 0 &&
      needOf(
        6,
        countText(critical, 'critical finding'),
        'Show the findings',
        audited({ severity: 'critical' }),
      ),
    sweep?.last != null && failedRun(sweep, 'sweep'),
    expiresSoon &&
      value !== null &&
      needOf(
        4,
        'own token expires soon',
        'Show its tokens',
        query('/tokens', { place, user: patternOf(value.identity.username) }),
      ),
    only !== undefined &&
      (plain.length === 1
        ? needOf(3, `${only.id} open`, 'Open the case', query('/case', { place, incident: only.id }))
        : needOf(3, `${plain.length} incidents open`, 'Show them', query('/incidents', { place }))),
    problem === null &&
      incidents.problem !== null &&
      needOf(2, 'incidents could not be read', 'Show why', query('/incidents', { place })),
    audit.problem !== null && needOf(2, 'not audited', 'Show why', audited({})),
    ...weakSettings(value?.settings ?? null).map(({ text, rule }) =>
      needOf(1, text, 'Show the remedy', audited({ rule })),
    ),
    value !== null &&
      value.incomplete !== null &&
      needOf(1, 'its account cannot see all tokens', 'Show the account', card),
  ].filter((need) => need !== false);
}

/** Why jobs need attention, except the sweeps of displayed controllers. */
export function jobNeeds({ warning, jobs }: JobsRead, sweeps: readonly Sweep[]): readonly Need[] {
  return [
    warning !== null && jobs.length > 0 && needOf(5, 'no scheduler is running', 'Show the jobs', '/jobs'),
    ...jobs.filter((job) => !sweeps.includes(job)).map((job) => failedRun(job, job.name)),
  ].filter((need) => need !== false);
}

function failedRun({ last }: Sweep, name: string): Need | false {
  if (last?.state !== 'failed' && last?.state !== 'lost') return false;
  return needOf(5, `${name} ${last.state}`, 'Show the run', query('/jobs', { run: last.run }));
}

/** From this weight on, immediate action is needed. */
const GRAVE = 5;

function needOf(weight: number, text: string, act: string, to: string): Need {
  return { text, act, to, weight, isGrave: weight >= GRAVE };
}

const SWITCHES = [
  ['AUTH_BASIC_ENABLED', 'basic authentication', 'basic-auth-on'],
  ['ALLOW_OAUTH2_FOR_EXTERNAL_USERS', 'tokens of external users', 'external-tokens-allowed'],
] as const;
const YEAR_SECONDS = 31_536_000;

/** The settings, each with whether it is as required; null if they are unreadable. */
export function settingsIn(settings: ContextRead['settings']) {
  if (settings === null) return null;
  const lifetime = settings['OAUTH2_PROVIDER']?.ACCESS_TOKEN_EXPIRE_SECONDS;
  return [
    ...SWITCHES.map(([key, name, rule]) => {
      const isOn = settings[key] === true;
      return { text: `${name} ${isOn ? 'on' : 'off'}`, isGood: !isOn, rule };
    }),
    ...(lifetime === undefined
      ? []
      : [
          {
            text: `new tokens live ${lifetimeText(lifetime)}`,
            isGood: lifetime <= YEAR_SECONDS,
            // The rule finds lifetimes that are practically unlimited.
            rule: lifetime > 100 * YEAR_SECONDS ? 'lifetime-default' : undefined,
          },
        ]),
  ];
}

function weakSettings(settings: ContextRead['settings']) {
  return (settingsIn(settings) ?? []).filter(({ isGood }) => !isGood);
}

function lifetimeText(seconds: number): string {
  const units = [
    [YEAR_SECONDS, 'year'],
    [86_400, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
  ] as const;
  const [size, unit] = units.find(([each]) => seconds >= each) ?? [1, 'second'];
  return countText(Math.round(seconds / size), unit);
}
