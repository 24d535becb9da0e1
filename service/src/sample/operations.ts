import { writeVariables } from '../playbooks/variables.ts';
import type { JobStatus } from '../store/jobs.ts';
import { type Choices, choices } from './choices.ts';
import type { SampleEstate } from './estate.ts';
import { printRun, type Trouble } from './output.ts';
import { PLAYBOOKS, type SamplePlaybook } from './playbooks.ts';

/** An inventory with its hosts. Its jobs run on the service's machine. */
interface SampleInventory {
  readonly name: string;
  readonly description: string;
  readonly hosts: readonly string[];
}

interface SampleTemplate {
  readonly name: string;
  readonly description: string;
  readonly playbook: keyof typeof PLAYBOOKS;
  readonly inventory: string;
  /** A host pattern; empty for all. */
  readonly limit: string;
  readonly extraVars: string;
  /** What a launch prompts for. */
  readonly asks: readonly ('ask_limit_on_launch' | 'ask_variables_on_launch' | 'ask_job_type_on_launch')[];
  /** When it is launched, and how often that fails. */
  readonly launches: Launches;
}

/** When a template is launched. Hours are UTC. */
interface Launches {
  readonly days: 'all' | 'weekdays' | 'tuesdays';
  /** The minimum and maximum number per day. */
  readonly number: readonly [number, number];
  /** The first and the last hour. */
  readonly hours: readonly [number, number];
  /** The accounts that launch it; people on call if empty. */
  readonly by: readonly string[];
  readonly failing: number;
}

export interface SampleJob {
  readonly template: string;
  readonly launchedBy: string;
  readonly status: Exclude<JobStatus, 'pending' | 'running'>;
  readonly explanation: string;
  readonly limit: string;
  readonly variables: string;
  readonly created: Date;
  readonly started: Date;
  readonly finished: Date;
  readonly output: string;
}

interface SampleGrant {
  readonly team: string;
  readonly type: 'inventory' | 'job_template';
  readonly name: string;
  readonly role: 'admin' | 'execute' | 'read';
}

/** An organization's resources on a controller, and a month of its jobs. */
export interface SampleOperations {
  readonly inventories: readonly SampleInventory[];
  readonly templates: readonly SampleTemplate[];
  readonly grants: readonly SampleGrant[];
  /** When everything was created, before the first job. */
  readonly since: Date;
  /** In launch order. */
  readonly jobs: readonly SampleJob[];
}

const numbered = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${name}${String(index + 1).padStart(2, '0')}`);

const INVENTORIES: readonly SampleInventory[] = [
  {
    name: 'Production',
    description: 'The servers of the shop.',
    hosts: [
      ...numbered('web', 12),
      ...numbered('db', 4),
      ...numbered('cache', 4),
      ...numbered('lb', 2),
      ...numbered('mail', 2),
      ...numbered('build', 4),
    ],
  },
  {
    name: 'Staging',
    description: 'Used to test releases.',
    hosts: [...numbered('stage-web', 6), ...numbered('stage-db', 2), ...numbered('stage-cache', 4)],
  },
];

const TEMPLATES: readonly SampleTemplate[] = [
  {
    name: 'Deploy to staging',
    description: 'Installs a release for testing.',
    playbook: 'deploy.yml',
    inventory: 'Staging',
    limit: 'stage-web*',
    extraVars: 'release: "5.12.0"',
    asks: ['ask_variables_on_launch'],
    launches: { days: 'weekdays', number: [2, 6], hours: [7, 16], by: ['ci-deploy'], failing: 0.1 },
  },
  {
    name: 'Deploy web application',
    description: 'Installs a release on the web servers.',
    playbook: 'deploy.yml',
    inventory: 'Production',
    limit: 'web*',
    extraVars: 'release: "5.12.0"',
    asks: ['ask_variables_on_launch', 'ask_limit_on_launch', 'ask_job_type_on_launch'],
    launches: { days: 'weekdays', number: [0, 3], hours: [8, 15], by: ['ci-deploy'], failing: 0.05 },
  },
  {
    name: 'Nightly backup',
    description: 'Saves the databases.',
    playbook: 'backup.yml',
    inventory: 'Production',
    limit: 'db*',
    extraVars: '',
    asks: [],
    launches: { days: 'all', number: [1, 1], hours: [2, 2], by: ['backup'], failing: 0.04 },
  },
  {
    name: 'Check certificates',
    description: 'Looks for certificates that expire soon.',
    playbook: 'certificates.yml',
    inventory: 'Production',
    limit: '',
    extraVars: '',
    asks: [],
    launches: { days: 'all', number: [1, 1], hours: [6, 6], by: ['monitoring'], failing: 0 },
  },
  {
    name: 'Patch servers',
    description: 'Installs updates, and restarts services if needed.',
    playbook: 'patch.yml',
    inventory: 'Production',
    limit: '',
    extraVars: '',
    asks: ['ask_limit_on_launch', 'ask_job_type_on_launch'],
    launches: { days: 'tuesdays', number: [1, 2], hours: [21, 22], by: ['patching'], failing: 0.35 },
  },
  {
    name: 'Restart a service',
    description: 'For the on-call team.',
    playbook: 'restart.yml',
    inventory: 'Production',
    limit: '',
    extraVars: 'service: nginx',
    asks: ['ask_limit_on_launch', 'ask_variables_on_launch'],
    launches: { days: 'all', number: [0, 2], hours: [0, 23], by: [], failing: 0.06 },
  },
];

const GRANTS: readonly SampleGrant[] = [
  { team: 'Platform', type: 'inventory', name: 'Production', role: 'admin' },
  { team: 'Platform', type: 'inventory', name: 'Staging', role: 'admin' },
  { team: 'Platform', type: 'job_template', name: 'Patch servers', role: 'execute' },
  { team: 'On call', type: 'job_template', name: 'Restart a service', role: 'execute' },
  { team: 'On call', type: 'job_template', name: 'Nightly backup', role: 'read' },
];

const DAYS = 31;
/** How many days before the first job everything was created. */
const AGE = 300;
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;
/** How long before now the last job ends. */
const QUIET = 120 * SECOND;

/** An organization's resources on a controller, and a month of its jobs: the same for the same seed, users and time. */
export function sampleOperations(
  estate: Pick<SampleEstate, 'users' | 'teams'>,
  { now, seed = 'operations' }: { now: Date; seed?: string },
): SampleOperations {
  const chosen = choices(seed);
  const onCall = peopleOnCall(estate);
  const today = Math.floor(now.getTime() / DAY) * DAY;
  // Some outcomes are too rare for chance to produce them every month.
  const counter = { jobs: 0 };
  const jobs = TEMPLATES.flatMap((template) => {
    const launched = Array.from({ length: DAYS }, (_, day) => today - (DAYS - 1 - day) * DAY).flatMap((day) =>
      launchesOn(chosen, template, day),
    );
    return runsOf(chosen, { template, launched, onCall, counter });
  });
  return {
    inventories: INVENTORIES,
    templates: TEMPLATES,
    grants: GRANTS,
    since: new Date(today - (DAYS + AGE) * DAY),
    jobs: jobs
      .filter(({ finished }) => finished.getTime() < now.getTime() - QUIET)
      .sort((one, other) => one.created.getTime() - other.created.getTime()),
  };
}

function peopleOnCall({ users, teams }: Pick<SampleEstate, 'users' | 'teams'>): readonly string[] {
  const [, team] = teams;
  const people = (team?.members ?? []).flatMap((position) => users[position] ?? []);
  const names = people.filter(({ active }) => active).map(({ username }) => username);
  return names.length > 0 ? names : users.slice(0, 1).map(({ username }) => username);
}

/** The times at which a template is launched on a day. */
function launchesOn(chosen: Choices, { launches }: SampleTemplate, day: number): readonly number[] {
  const weekday = new Date(day).getUTCDay();
  const isDay =
    launches.days === 'all' || (launches.days === 'tuesdays' ? weekday === 2 : weekday > 0 && weekday < 6);
  if (!isDay) return [];
  const [least, most] = launches.number;
  const [from, to] = launches.hours;
  return Array.from(
    { length: chosen.between(least, most) },
    () => day + chosen.between(from * HOUR, (to + 1) * HOUR - 1),
  ).sort((one, other) => one - other);
}

/** The jobs of a template. None starts before the previous one has ended. */
function runsOf(
  chosen: Choices,
  options: {
    template: SampleTemplate;
    launched: readonly number[];
    onCall: readonly string[];
    counter: { jobs: number };
  },
): readonly SampleJob[] {
  const { template, launched, onCall, counter } = options;
  const jobs: SampleJob[] = [];
  let free = 0;
  for (const at of launched) {
    counter.jobs += 1;
    const job = sampleJob(chosen, { template, onCall, created: at, free, number: counter.jobs });
    free = job.finished.getTime();
    jobs.push(job);
  }
  return jobs;
}

const SERVICES = ['nginx', 'php-fpm', 'redis', 'postgresql', 'postfix'];

function sampleJob(
  chosen: Choices,
  options: {
    template: SampleTemplate;
    onCall: readonly string[];
    created: number;
    /** When the previous job has ended. */
    free: number;
    /** The index among all jobs. */
    number: number;
  },
): SampleJob {
  const { template, onCall, created, free, number } = options;
  const { launches, inventory } = template;
  const playbook: SamplePlaybook = PLAYBOOKS[template.playbook];
  const all = INVENTORIES.find(({ name }) => name === inventory)?.hosts ?? [];
  const limit = launches.by.length === 0 ? chosen.of(all) : template.limit;
  const hosts = all.filter((host) => matches(host, limit));
  const end = endOf(chosen, { hosts, failing: launches.failing, playbook, number });
  const started = Math.max(created, free) + chosen.between(200, 900);
  const share = end.trouble?.result === 'stopped' ? 0.5 : 1;
  const seconds = share * (4 + hosts.length * playbook.tasks.length * (0.6 + chosen.fraction()));
  return {
    template: template.name,
    launchedBy: chosen.of(launches.by.length === 0 ? onCall : launches.by),
    status: end.status,
    explanation: end.explanation,
    limit,
    variables: writeVariables(variablesOf(chosen, template)),
    created: new Date(created),
    started: new Date(started),
    finished: new Date(started + Math.round(seconds * SECOND)),
    output: printRun(playbook, hosts, end.trouble),
  };
}

function matches(host: string, limit: string): boolean {
  return limit === '' || host === limit || (limit.endsWith('*') && host.startsWith(limit.slice(0, -1)));
}

function variablesOf(chosen: Choices, { extraVars }: SampleTemplate): Readonly<Record<string, string>> {
  if (extraVars === '') return {};
  if (extraVars.startsWith('service')) return { service: chosen.of(SERVICES) };
  return { release: `5.${chosen.between(9, 12)}.${chosen.between(0, 7)}` };
}

/** One in this many jobs is canceled, and one is lost with the service. */
const CANCELED = 61;
const LOST = 89;

function endOf(
  chosen: Choices,
  options: { hosts: readonly string[]; failing: number; playbook: SamplePlaybook; number: number },
): { status: SampleJob['status']; explanation: string; trouble: Trouble | null } {
  const { hosts, failing, playbook, number } = options;
  const host = chosen.of(hosts);
  const task = chosen.between(0, playbook.tasks.length - 1);
  const trouble = (result: Trouble['result']): Trouble => ({
    result,
    host,
    task,
    cause: chosen.of(playbook.causes),
  });
  if (number % CANCELED === 0) return { status: 'canceled', explanation: '', trouble: trouble('stopped') };
  if (number % LOST === 0) {
    const explanation = 'The service that ran this job stopped before the job ended.';
    return { status: 'error', explanation, trouble: trouble('stopped') };
  }
  if (!chosen.chance(failing)) return { status: 'successful', explanation: '', trouble: null };
  const result = chosen.chance(0.3) ? 'unreachable' : 'failed';
  return { status: 'failed', explanation: '', trouble: trouble(result) };
}
