import { TokenctlError } from '@tokenctl/common/errors.ts';
import { requireSchedule } from '../../app/jobs/scheduled-jobs.ts';
import { createRuntime, type Runtime } from '../../app/runtime.ts';
import { type Configuration, writableFile } from '../../config/configuration.ts';
import { contextOf } from '../../config/contexts.ts';
import { editFile } from '../../config/edit-contexts.ts';
import { MACHINE } from '../../config/machine-place.ts';
import { replaceFile } from '../../config/paths.ts';
import { ENVIRONMENT_CONTEXT } from '../../config/schema.ts';
import { secretFrom, storeSecret } from '../../config/secrets.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import { defaultPolicy, type RuleName, requireUsable, ruleNames } from '../../domain/policy/policy.ts';
import { lines, list } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { ask, canAsk } from '../change/confirmation.ts';
import { addressOf, loginFlow } from '../contexts/login-flow.ts';
import { type RanJobJson, ranResult } from '../output/job-view.ts';
import { writeNotice } from '../output/streams.ts';
import { draftDirectories, draftLines } from './directory-drafts.ts';
import { dropInFor, SERVICE_DROP_INS } from './service-secrets.ts';

/** What `jobs init` prints with `--json`. */
export interface JobsInitJson {
  readonly file: string;
  readonly job: string;
  readonly context: string;
  readonly rules: readonly string[];
  readonly schedule: string;
  readonly timeZone: string;
  /** Whether the job only reports what it would revoke. */
  readonly dryRun: boolean;
  /** The names of the directories drafted from the controller's LDAP settings. */
  readonly directories: readonly string[];
  /** What the job would do now. */
  readonly preview: readonly RanJobJson[];
  /** The commands that start the job on its schedule. */
  readonly start: readonly string[];
}

/** The questions, and the answers already in the flags. */
export interface InitRequest {
  readonly runtime: Runtime;
  readonly flags: {
    readonly context?: string | undefined;
    readonly config?: string | undefined;
    /** Rule names, separated by commas. */
    readonly rules?: string | undefined;
    /** HH:MM, or a cron expression. */
    readonly schedule?: string | undefined;
    readonly 'time-zone'?: string | undefined;
    readonly live?: boolean | undefined;
  };
  readonly version: string;
}

const JOB = 'nightly-sweep';
const SCHEDULE = '0 3 * * *';
const RULES = 'owner-inactive,unused-for';

type Answers = Awaited<ReturnType<typeof answersOf>>;

/**
 * Writes a first configuration of a sweep: asks for what no flag gives, logs in if there is no context, and
 * runs the job as a dry run. Nothing is written before the last answer. On a machine with the package, the
 * secrets are passed to the service.
 * @throws TokenctlError `usage` for a wrong answer, or if there are already jobs; `interrupted`; what the
 * login and the job throw
 */
export async function initFlow(request: InitRequest): Promise<Report<JobsInitJson>> {
  const { configuration, environment } = request.runtime;
  const file = writableFile(configuration);
  requireNoJobs(configuration, file);
  const answers = await answersOf(request);
  const context = answers.context ?? (await newContext(answers, request));
  if (answers.context !== null)
    await request.runtime.in({ context, progress: request.runtime.progress }).description();
  const isService = file === MACHINE.configuration;
  const fresh = createRuntime({ flags: { config: request.flags.config }, environment, notify: writeNotice });
  try {
    const secrets = isService ? dropInFor(contextOf(fresh.configuration, context)) : null;
    const url = webhookFile(answers.webhook, file);
    writeJob(file, {
      ...answers,
      context,
      url: isService && url !== null ? `$CREDENTIALS_DIRECTORY/${WEBHOOK}` : url,
    });
    if (secrets !== null) {
      editFile(file, (document) =>
        document.setIn(['contexts', context, ...secrets.setting], secrets.reference),
      );
      const text = secrets.text(url === null ? [] : [WEBHOOK]);
      for (const path of SERVICE_DROP_INS) replaceFile(path, text, 0o644);
    }
  } finally {
    await fresh.close();
  }
  const { config } = request.flags;
  const drafted = await draftDirectories(request.runtime, { file, config, context, isService });
  return await tried(request, { ...answers, context, file, isService, drafted });
}

function requireNoJobs({ jobs }: Configuration, file: string): void {
  const names = Object.keys(jobs);
  if (names.length === 0) return;
  throw new TokenctlError('usage', `${file} contains jobs: ${names.join(', ')}`, {
    hint: `To see what a job would do: tokenctl jobs run ${names[0]} --dry-run. To add more, edit the jobs section of the file.`,
  });
}

async function answersOf({ runtime, flags }: InitRequest) {
  const { configuration } = runtime;
  const { context, address } = await controllerOf(configuration, flags);
  const rules = await answer(
    `Which audit rules should select tokens to revoke? See tokenctl docs policy [${RULES}]: `,
    { ...{ flag: flags.rules, byDefault: RULES, read: rulesOf } },
  );
  const schedule = await answer('Time to run, as HH:MM or cron [03:00]: ', {
    ...{ flag: flags.schedule, byDefault: SCHEDULE, read: scheduleOf },
  });
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const timeZone = await answer(`Time zone [${zone}]: `, {
    ...{ flag: flags['time-zone'], byDefault: zone },
    read(text) {
      requireSchedule({ expression: schedule, timeZone: text });
      return text;
    },
  });
  const dryRun = await answer('Revoke (live), or only report (dry-run) [dry-run]: ', {
    ...{ flag: flags.live === true ? 'live' : undefined, byDefault: 'dry-run', read: isDryRun },
  });
  const webhook = await answer('Webhook or Slack URL for notices, not shown (empty to send no notices): ', {
    byDefault: '',
    hidden: true,
    read: webhookOf,
  });
  if (!canAsk() && (flags.rules === undefined || flags.schedule === undefined)) {
    throw new TokenctlError('usage', 'No terminal to prompt at', {
      hint: 'Use --rules, --schedule and --context instead.',
    });
  }
  return { context, address, rules, schedule, timeZone, dryRun, webhook };
}

/** The maximum number of times to ask a question. */
const MAX_ASKED = 3;

/**
 * The flag's value, otherwise the answer on the terminal, or the default for an empty answer or if no one can
 * be asked. After a wrong answer the question is repeated, so that earlier answers are not lost.
 */
async function answer<Read>(
  question: string,
  options: { flag?: string | undefined; byDefault: string; read: (text: string) => Read; hidden?: boolean },
): Promise<Read> {
  const { flag, byDefault, read, hidden = false } = options;
  if (flag !== undefined || !canAsk()) return read(flag ?? byDefault);
  for (let asked = 1; ; asked += 1) {
    const text = (await ask(question, { hidden })).trim();
    try {
      return read(text || byDefault);
    } catch (error) {
      if (!(error instanceof TokenctlError) || asked === MAX_ASKED) throw error;
      writeNotice([`${error.message}.`, error.hint].filter(Boolean).join(' '));
    }
  }
}

function isDryRun(mode: string): boolean {
  if (mode === 'live' || mode === 'dry-run') return mode === 'dry-run';
  throw new TokenctlError('usage', `The mode must be live or dry-run, not "${mode}"`);
}

function webhookOf(url: string): string {
  if (url === '' || /^https?:\/\//.test(url)) return url;
  throw new TokenctlError('usage', 'Invalid webhook URL', {
    hint: 'It must start with https:// or http://.',
  });
}

/** An existing context and its address; null and the login address for a context that a login creates. */
async function controllerOf(configuration: Configuration, flags: InitRequest['flags']) {
  const { [ENVIRONMENT_CONTEXT]: _, ...contexts } = configuration.contexts;
  const [first] = Object.keys(contexts);
  if (first === undefined) {
    if (!canAsk()) {
      throw new TokenctlError('usage', 'No context, and no terminal to prompt for one', {
        hint: 'Run `tokenctl login ADDRESS` first.',
      });
    }
    return { context: null, address: addressOf((await ask('Controller address: ')).trim()) };
  }
  const current = configuration.currentContext;
  const byDefault = current !== undefined && Object.hasOwn(contexts, current) ? current : first;
  const read = (text: string) => contextOf(configuration, text).name;
  const context = await answer(`Context [${byDefault}]: `, { flag: flags.context, byDefault, read });
  return { context, address: '' };
}

function rulesOf(text: string): readonly RuleName[] {
  const names = text.split(',').map((name) => name.trim());
  return names.map((name) => {
    const rule = ruleNames.find((each) => each === name);
    if (rule === undefined) {
      const near = nearestName(name, ruleNames);
      throw new TokenctlError('usage', `No rule named "${name}"`, {
        hint:
          near === undefined
            ? `Use one or more of these rules: ${ruleNames.join(', ')}.`
            : `Did you mean "${near}"?`,
      });
    }
    requireUsable(rule, defaultPolicy);
    return rule;
  });
}

function scheduleOf(text: string): string {
  const [, hours, minutes] = /^(\d{1,2}):(\d{2})$/.exec(text) ?? [];
  const expression = hours === undefined ? text : `${Number(minutes)} ${Number(hours)} * * *`;
  requireSchedule({ expression, timeZone: 'UTC' });
  return expression;
}

async function newContext({ address }: Answers, { runtime, version }: InitRequest): Promise<string> {
  const { configuration, environment } = runtime;
  const { json } = await loginFlow({ configuration, environment, address, flags: {}, version });
  return json.context;
}

/** The name of the file with the webhook URL, which is a secret. */
const WEBHOOK = 'notices.url';

function webhookFile(url: string, configurationFile: string): string | null {
  if (url === '') return null;
  return storeSecret(secretFrom(url, 'The webhook URL'), {
    configurationFile,
    context: 'notices',
    kind: 'url',
  });
}

function writeJob(
  file: string,
  { context, rules, schedule, timeZone, dryRun, webhook, url }: Answers & { url: string | null },
): void {
  editFile(file, (document) => {
    const job = {
      job: 'revocation-sweep',
      schedule,
      timeZone,
      contexts: [context],
      dryRun,
      parameters: { rules },
    };
    document.setIn(['jobs', JOB], document.createNode(job));
    if (url === null) return;
    const kind = new URL(webhook).hostname === 'hooks.slack.com' ? 'slack' : 'webhook';
    document.setIn(
      ['scheduler', 'notify', 'notices'],
      document.createNode({ kind, url: { file: url }, at: 'info' }),
    );
  });
}

/** Runs the job as a dry run, with the written configuration. */
async function tried(
  { runtime, flags, version }: InitRequest,
  {
    context,
    ...written
  }: Answers & {
    context: string;
    file: string;
    isService: boolean;
    drafted: Awaited<ReturnType<typeof draftDirectories>>;
  },
): Promise<Report<JobsInitJson>> {
  const { runManually } = await import('../../app/jobs/run-manually.ts');
  const { file, isService, rules, schedule, timeZone, dryRun, drafted } = written;
  const { environment } = runtime;
  const fresh = createRuntime({ flags: { config: flags.config }, environment, notify: writeNotice, version });
  try {
    const ran = ranResult(
      await runManually({
        runtime: fresh,
        name: JOB,
        dryRun: true,
        version,
        notify: writeNotice,
        within: undefined,
      }),
    );
    const start = isService
      ? ['systemctl daemon-reload', 'systemctl enable --now tokenctl-jobs']
      : ['tokenctl jobs check', 'tokenctl jobs start'];
    const mode = dryRun
      ? 'It only reports what it would revoke until the file contains `dryRun: false`.'
      : 'It revokes.';
    return report({
      json: {
        ...{ file, job: JOB, context, rules, schedule, timeZone, dryRun, preview: ran.json, start },
        directories: drafted.map(({ name }) => name),
      },
      document: [
        lines(`Wrote the job ${JOB} to ${file}: ${rules.join(', ')} at "${schedule}" ${timeZone}.`, mode),
        lines(
          'If it ran now, it would do this:',
          list(...ran.json.map(({ job, summary }) => `${job}: ${String(summary['message'] ?? '')}`)),
        ),
        lines('Start it:', list(start)),
        ...draftLines(drafted),
      ],
      failure: ran.failure,
    });
  } finally {
    await fresh.close();
  }
}
