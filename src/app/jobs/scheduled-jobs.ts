import { accessSync, constants, existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Configuration } from '../../config/configuration.ts';
import { contextOf, credentialOf, expandGroups } from '../../config/contexts.ts';
import type { JobSettings } from '../../config/jobs.ts';
import { MACHINE } from '../../config/machine-place.ts';
import { type Environment, stateFolderIfKnown } from '../../config/paths.ts';
import { databaseConnection } from '../../config/secrets.ts';
import { storeFor, storeSettings } from '../../config/stores.ts';
import { Schedule } from '../../scheduler/schedule.ts';
import type { ScheduledJob } from '../../scheduler/scheduled-job.ts';
import { directorySettings, openDirectory } from '../open-directory.ts';
import { type ConfiguredJob, jobKind, jobSettings, runJob, type WorkOptions } from './run-job.ts';

/** A job in `jobs list` and `jobs check`. */
export interface CheckedJob extends ConfiguredJob {
  /** Null for an invalid job. */
  readonly schedule: Schedule | null;
  readonly expression: string;
  readonly problem: TokenctlError | null;
}

/** Every configured job in each of its contexts, checked as far as possible without connecting. */
export function checkedJobs(configuration: Configuration): readonly CheckedJob[] {
  return Object.entries(configuration.jobs).flatMap(([name, settings]) =>
    contextsOf(settings, configuration).map((context) => {
      const job = { name: context === null ? name : `${name}@${context}`, settings, context };
      const expression = settings.schedule ?? jobKind(settings.job).schedule;
      try {
        return { ...job, expression, schedule: checked(job, expression, configuration), problem: null };
      } catch (error) {
        if (!(error instanceof TokenctlError)) throw error;
        return { ...job, expression, schedule: null, problem: error };
      }
    }),
  );
}

/**
 * A warning that the jobs' audit log is not protected from a user who can write it. Null if a job stores checkpoints
 * in a second place: signed checkpoints in the log's folder, or none, can be replaced together with the log.
 */
export function unprotectedLog({ jobs, auditLog }: Configuration): string | null {
  const folder = auditLog.file === undefined ? null : dirname(auditLog.file);
  const isElsewhere = ({ job, parameters }: JobSettings) => {
    if (job !== 'log-checkpoint') return false;
    // The job's kind validated this.
    const { keepIn, notify } = parameters as { readonly keepIn?: string; readonly notify: boolean };
    return notify || (keepIn !== undefined && dirname(keepIn) !== folder);
  };
  if (Object.keys(jobs).length === 0 || Object.values(jobs).some(isElsewhere)) return null;
  return 'Warning: no job stores checkpoints of the audit log somewhere else. A user who can write to the log can rewrite it unnoticed. Add a job of kind log-checkpoint with `notify: true`, or with `keepIn` in another place.';
}

/** Warnings about unreadable credentials of the jobs' contexts and directories. Connects to nothing. */
export function unreadableCredentials(
  configuration: Configuration,
  environment: Environment,
): readonly string[] {
  const jobs = checkedJobs(configuration).filter(({ problem }) => problem === null);
  const contexts = new Set(jobs.flatMap(({ context }) => context ?? []));
  const directories = new Set(jobs.flatMap(({ settings }) => directoryOf(settings) ?? []));
  const unreadable = (what: string, read: () => unknown): readonly string[] => {
    try {
      read();
      return [];
    } catch (error) {
      if (!(error instanceof TokenctlError)) throw error;
      return [`Warning: cannot read the credential of the ${what} here. ${error.message}`];
    }
  };
  return [
    ...[...contexts].flatMap((name) =>
      unreadable(`context "${name}"`, () => {
        const context = contextOf(configuration, name === '' ? undefined : name);
        if (context.database === undefined) credentialOf(context, environment);
        else databaseConnection(context.database, environment);
      }),
    ),
    ...[...directories].flatMap((name) =>
      unreadable(`directory "${name}"`, () => openDirectory(name, configuration.directories, environment)),
    ),
  ];
}

/** The job parameters with a file to write. */
const WRITTEN = ['report', 'baseline', 'keepIn'] as const;

/**
 * Warnings about files that jobs cannot write here, or that this machine's service cannot write: the folder
 * of its configuration is read-only for it, and relative paths start there. Writes nothing.
 * @param service The path of the service's configuration.
 */
export function unwritableFiles(
  { jobs, file }: Pick<Configuration, 'jobs' | 'file'>,
  environment: Environment,
  service = MACHINE.configuration,
): readonly string[] {
  return Object.entries(jobs).flatMap(([name, { parameters }]) =>
    WRITTEN.flatMap((parameter) => {
      // The job's kind validated this.
      const path = (parameters as { readonly [name in typeof parameter]?: string })[parameter];
      if (path === undefined) return [];
      const isReadOnly = file === service && `${path}/`.startsWith(`${dirname(service)}/`);
      const why = isReadOnly
        ? `the packaged systemd unit can only read ${dirname(service)}`
        : refusal(path, parameter);
      if (why === null) return [];
      const state = stateFolderIfKnown(environment);
      const instead = state === null ? '' : `, such as ${join(state, basename(path))}`;
      return [
        `Warning: the job "${name}" cannot write its ${parameter} to ${path}: ${why}. Specify a file in a directory that it can write to${instead}.`,
      ];
    }),
  );
}

/** Why a file cannot be written here, or null. Only for a report, the folder must exist. */
function refusal(path: string, parameter: (typeof WRITTEN)[number]): string | null {
  let folder = dirname(path);
  const isMade = parameter !== 'report' || folder.includes('{context}');
  while (isMade && !existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? `${folder} does not exist` : `${folder} is not writable here (${code})`;
  }
}

function directoryOf({ job, parameters }: JobSettings): string | undefined {
  if (job !== 'offboarding') return undefined;
  // The job's kind validated this.
  return (parameters as { readonly present?: { readonly directory?: string } }).present?.directory;
}

/** The configured jobs, ready to run. Throws `configuration` listing every problem. */
export function scheduledJobs(options: WorkOptions): readonly ScheduledJob[] {
  const jobs = checkedJobs(options.configuration);
  const problems = jobs.flatMap(({ name, problem }) =>
    problem === null ? [] : [`jobs: ${name}: ${problem.message}`],
  );
  if (problems.length > 0) {
    throw new TokenctlError('configuration', problems.join('\n'), {
      hint: 'Check them with `tokenctl jobs check`.',
    });
  }
  return jobs.flatMap((job) =>
    job.schedule === null ? [] : [scheduled({ ...job, schedule: job.schedule }, options)],
  );
}

/** Checks a schedule. Throws TokenctlError `configuration`. */
export function requireSchedule(schedule: { readonly expression: string; readonly timeZone: string }): void {
  new Schedule(schedule);
}

function scheduled(job: CheckedJob & { readonly schedule: Schedule }, options: WorkOptions): ScheduledJob {
  const { name, settings, schedule, expression, context } = job;
  const { timeout, jitter, missed, onFailure, dryRun, timeZone } = settings;
  const { contexts, policy, ownerNotices } = options.configuration;
  return {
    name,
    context,
    schedule,
    scheduleText: `${expression} ${timeZone}`,
    work: (run) => runJob(job, run, options),
    timeout,
    jitter,
    missed,
    onFailure,
    dryRun,
    fingerprint: JSON.stringify([
      ...[settings, expression, context === null ? null : contexts[context], policy, ownerNotices],
    ]),
  };
}

function contextsOf(settings: JobSettings, configuration: Configuration): readonly (string | null)[] {
  if (jobKind(settings.job).on === 'log') return [null];
  return expandGroups(configuration, settings.contexts ?? [configuration.currentContext ?? '']);
}

function checked({ settings, context }: ConfiguredJob, expression: string, configuration: Configuration) {
  if (context !== null) contextOf(configuration, context === '' ? undefined : context);
  const directory = directoryOf(settings);
  if (directory !== undefined) directorySettings(directory, configuration.directories);
  requireOwnPlaces(settings, configuration, contextsOf(settings, configuration).length);
  const schedule = new Schedule({ expression, timeZone: settings.timeZone });
  requireSmallJitter(schedule, settings.jitter);
  jobKind(settings.job).check?.(settings.parameters, jobSettings(configuration));
  return schedule;
}

/** A tick delayed beyond the next one would count as missed. */
function requireSmallJitter(schedule: Schedule, jitter: number): void {
  let at = schedule.next(new Date());
  for (let tick = 0; tick < 50; tick += 1) {
    const next = schedule.next(at);
    const apart = (next.getTime() - at.getTime()) / 1000;
    if (jitter >= apart) {
      throw new TokenctlError(
        'configuration',
        `Jitter of ${jitter} s is too long: scheduled runs are ${apart} s apart`,
      );
    }
    at = next;
  }
}

/** The consumers of a job of the kind `rotation`, by name; none of another kind. */
function consumersOf({ job, parameters }: JobSettings): Readonly<Record<string, { readonly store: string }>> {
  if (job !== 'rotation') return {};
  // As the kind of the job has checked.
  return (parameters as { readonly consumers: Readonly<Record<string, { readonly store: string }>> })
    .consumers;
}

/**
 * Checks the stores of a job's consumers: each has to be there, and no two consumers may share a name or a
 * place, since each would revoke or overwrite the tokens of the other.
 * @param contexts In how many contexts the job runs.
 * @throws TokenctlError `not_found`, `configuration`
 */
function requireOwnPlaces(
  settings: JobSettings,
  { jobs, stores }: Pick<Configuration, 'jobs' | 'stores'>,
  contexts: number,
): void {
  const all = Object.entries(jobs).flatMap(([job, each]) =>
    Object.entries(consumersOf(each)).map(([name, { store }]) => ({
      ...{ job, name, store, isOwn: each === settings },
      place: JSON.stringify(storeFor(storeSettings(store, stores), name)),
    })),
  );
  const own = all.filter(({ isOwn }) => isOwn);
  const wrong = (message: string, hint?: string) => new TokenctlError('configuration', message, { hint });
  if (own.length > 0 && contexts > 1) {
    throw wrong(
      'A rotation job runs in one context because each consumer has one place',
      'Create a separate job for each context.',
    );
  }
  for (const consumer of own) {
    const others = all.filter((each) => each !== consumer);
    const same = others.find(({ name }) => name === consumer.name);
    if (same !== undefined) throw wrong(`The consumer ${consumer.name} is also in the job ${same.job}`);
    const sharing = others.find(({ place }) => place === consumer.place);
    if (sharing !== undefined) {
      throw wrong(
        `The consumers ${consumer.name} and ${sharing.name} use the same place in the store ${consumer.store}`,
        "Use {consumer} in the store's path. It is replaced by the consumer's name.",
      );
    }
  }
}
