import { createHash } from 'node:crypto';
import { type Choices, choices } from './choices.ts';

/** A user of a sample estate. Ids are indexes into the list, from 0. */
export interface SampleUser {
  readonly username: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly active: boolean;
  readonly superuser: boolean;
  readonly external: 'ldap' | 'social' | 'enterprise' | null;
}

interface SampleApplication {
  readonly name: string;
  readonly grant: 'password' | 'authorization-code';
  readonly client: 'confidential' | 'public';
}

/** An access token of a sample estate. Owner and application are indexes. */
export interface SampleToken {
  readonly owner: number;
  readonly application: number | null;
  readonly scope: 'read' | 'write' | 'read write';
  readonly description: string;
  readonly created: Date;
  readonly expires: Date;
  readonly lastUsed: Date | null;
  /** The stored hash of the token. Its value is unknown. */
  readonly hash: string;
}

/** A team of a sample estate. Its users are indexes. */
interface SampleTeam {
  readonly name: string;
  readonly description: string;
  readonly admins: readonly number[];
  readonly members: readonly number[];
}

/** Users, applications, teams and tokens as on a controller after some years of neglect. */
export interface SampleEstate {
  readonly users: readonly SampleUser[];
  readonly applications: readonly SampleApplication[];
  readonly teams: readonly SampleTeam[];
  readonly tokens: readonly SampleToken[];
}

const DAY = 86_400_000;
const THOUSAND_YEARS = 31_536_000_000_000;

const FIRST = 'Ada Bo Carla Deniz Emil Fatou Goran Hana Ines Jun Kofi Lea Mika Nora'.split(' ');
const LAST = 'Adler Brandt Costa Dubois Endo Fischer Gray Haddad Ito Jansen Kaya Lund'.split(' ');
const ROBOTS = 'ci-deploy ci-lint backup inventory-sync monitoring patching terraform chatops'.split(' ');
const PURPOSES = [
  'CI pipeline',
  'laptop',
  'Ansible collection',
  'dashboard',
  'migration script',
  'Tower CLI',
  'test',
  '',
];

const APPLICATIONS: readonly SampleApplication[] = [
  { name: 'Service catalog', grant: 'authorization-code', client: 'confidential' },
  { name: 'Night runner', grant: 'password', client: 'confidential' },
  { name: 'Mobile approvals', grant: 'authorization-code', client: 'public' },
  { name: 'Reporting', grant: 'password', client: 'confidential' },
  { name: 'Legacy portal', grant: 'password', client: 'public' },
];

/** Two teams of people, if there are enough. */
function sampleTeams(users: number): readonly SampleTeam[] {
  const people = Array.from(
    { length: Math.max(0, users - ROBOTS.length) },
    (_, index) => ROBOTS.length + index,
  );
  return [
    {
      name: 'Platform',
      description: 'Runs the controller.',
      admins: people.slice(0, 1),
      members: people.slice(1, 7),
    },
    {
      name: 'On call',
      description: 'Runs jobs at night.',
      admins: people.slice(7, 8),
      members: people.slice(5, 12),
    },
  ];
}

/** Makes a sample estate: the same for the same seed, size and time. Ages are relative to that time. */
export function sampleEstate(
  size: { readonly users: number; readonly tokens: number },
  { now, seed = 'estate' }: { now: Date; seed?: string },
): SampleEstate {
  const chosen = choices(seed);
  const users = Array.from({ length: size.users }, (_, index) => sampleUser(chosen, index));
  const tokens = Array.from({ length: size.tokens }, (_, index) =>
    sampleToken(chosen, { users, now, hash: createHash('sha256').update(`${seed}/${index}`).digest('hex') }),
  );
  return { users, applications: APPLICATIONS, teams: sampleTeams(users.length), tokens };
}

function sampleUser(chosen: Choices, index: number): SampleUser {
  const robot = ROBOTS[index];
  if (robot !== undefined) {
    return {
      username: robot,
      firstName: '',
      lastName: '',
      active: true,
      superuser: index === 0,
      external: null,
    };
  }
  const firstName = chosen.of(FIRST);
  const lastName = chosen.of(LAST);
  const draw = chosen.fraction();
  return {
    username: `${firstName}.${lastName}${index}`.toLowerCase(),
    firstName,
    lastName,
    active: !chosen.chance(0.08),
    superuser: chosen.chance(0.02),
    external: draw < 0.06 ? 'ldap' : draw < 0.1 ? 'social' : draw < 0.12 ? 'enterprise' : null,
  };
}

function sampleToken(
  chosen: Choices,
  { users, now, hash }: { users: readonly SampleUser[]; now: Date; hash: string },
): SampleToken {
  // A third belongs to a few machine accounts, which accumulate tokens.
  const owner = chosen.chance(0.35)
    ? chosen.between(0, Math.min(ROBOTS.length, users.length) - 1)
    : chosen.between(0, users.length - 1);
  const application = chosen.chance(0.4) ? chosen.between(0, APPLICATIONS.length - 1) : null;
  const age = chosen.between(1, 900) * DAY + chosen.between(0, DAY - 1);
  const created = new Date(now.getTime() - age);
  return {
    owner,
    application,
    scope: chosen.chance(0.7) ? 'write' : chosen.chance(0.8) ? 'read' : 'read write',
    description: chosen.of(PURPOSES),
    created,
    expires: new Date(created.getTime() + lifetime(chosen)),
    lastUsed: lastUse(chosen, { created, now }),
    hash,
  };
}

/** Most tokens have the controller's default of a thousand years, the others 90 days, one year or three years. */
function lifetime(chosen: Choices): number {
  return chosen.chance(0.72) ? THOUSAND_YEARS : chosen.of([90 * DAY, 365 * DAY, 3 * 365 * DAY]);
}

function lastUse(chosen: Choices, { created, now }: { created: Date; now: Date }) {
  if (chosen.chance(0.2)) return null;
  const age = now.getTime() - created.getTime();
  const since = chosen.chance(0.5) ? Math.min(age, chosen.between(0, 14) * DAY) : chosen.fraction() * age;
  return new Date(now.getTime() - since);
}
