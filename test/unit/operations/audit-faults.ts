import {
  type SampleEstate,
  type SampleToken,
  type SampleUser,
  sampleEstate,
} from '@tokenctl/service/sample/estate.ts';
import type { RuleName } from '../../../src/domain/policy/policy.ts';

const DAY = 86_400_000;

/** A fault put into a healthy estate: the position of the token, and the rules that must find it, and no other. */
interface PlantedFault {
  readonly position: number;
  readonly rules: readonly RuleName[];
}

/** An estate whose every fault is known. */
export interface FaultyEstate {
  readonly estate: SampleEstate;
  readonly faults: readonly PlantedFault[];
}

type Fault = readonly [
  rules: readonly RuleName[],
  change: (token: SampleToken, now: number) => Partial<SampleToken>,
];

/** Users of a kind stand at these positions. No one else is of that kind, and no healthy token is theirs. */
export const INACTIVE = 20;
const EXTERNAL = 21;
const SUPERUSER = 22;

/** Each kind of fault of one token. */
const FAULTS: readonly Fault[] = [
  [['owner-inactive'], () => ({ owner: INACTIVE })],
  [['owner-external'], () => ({ owner: EXTERNAL })],
  [['owner-superuser'], () => ({ owner: SUPERUSER })],
  [['never-expires'], ({ created }) => ({ expires: new Date(created.getTime() + 31_536_000_000_000) })],
  [['lifetime-over'], ({ created }) => ({ expires: new Date(created.getTime() + 367 * DAY) })],
  [['write-scope'], () => ({ scope: 'write' })],
  [['write-scope'], () => ({ scope: 'read write' })],
  [
    ['never-used'],
    (_, now) => ({ lastUsed: null, created: new Date(now - 31 * DAY), expires: new Date(now + 200 * DAY) }),
  ],
  [
    ['unused-for'],
    (_, now) => ({
      lastUsed: new Date(now - 91 * DAY),
      created: new Date(now - 100 * DAY),
      expires: new Date(now + 200 * DAY),
    }),
  ],
  [['no-description'], () => ({ description: '', application: null })],
  [['expired-present'], (_, now) => ({ expires: new Date(now - 1000) })],
  [
    ['owner-inactive', 'write-scope', 'never-expires'],
    ({ created }) => ({
      owner: INACTIVE,
      scope: 'write',
      expires: new Date(created.getTime() + 31_536_000_000_000),
    }),
  ],
];

/**
 * The estate of the demo's generator made healthy, with known faults put into every so-manieth token, kind
 * after kind. Tokens keep the generator's owners, applications and ages as far as those are no fault.
 */
export function faultyEstate(
  size: { readonly users: number; readonly tokens: number },
  { now, every }: { now: Date; every: number },
): FaultyEstate {
  const sample = sampleEstate(size, { now, seed: 'faults' });
  const users = sample.users.map(healthyUser);
  const faults: PlantedFault[] = [];
  const tokens = sample.tokens.map((token, position) => {
    const healthy = healthyToken(token, position, now.getTime());
    if (position % every !== 0) return healthy;
    const [rules, change] = FAULTS[(position / every) % FAULTS.length] as Fault;
    faults.push({ position, rules });
    return { ...healthy, ...change(healthy, now.getTime()) };
  });
  return { estate: { ...sample, users, tokens }, faults };
}

function healthyUser(user: SampleUser, position: number): SampleUser {
  return {
    ...user,
    active: position !== INACTIVE,
    external: position === EXTERNAL ? 'ldap' : null,
    superuser: position === SUPERUSER,
  };
}

/** Reads only, used within ten days, valid for less than a year, described as nothing else is. */
function healthyToken(token: SampleToken, position: number, now: number): SampleToken {
  const created = new Date(now - ((now - token.created.getTime()) % (250 * DAY)));
  const special = [INACTIVE, EXTERNAL, SUPERUSER].includes(token.owner);
  const sinceUse = Math.min(now - created.getTime(), (position % 10) * DAY);
  return {
    ...token,
    owner: special ? 0 : token.owner,
    scope: 'read',
    description: `${token.description} ${position}`,
    created,
    lastUsed: new Date(now - sinceUse),
    expires: new Date(created.getTime() + (300 + (position % 60)) * DAY),
  };
}
