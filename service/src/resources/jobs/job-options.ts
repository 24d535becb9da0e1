import { sql } from '@tokenctl/common/db/sql.ts';
import { type Declared, declared, type Field, type FieldSet } from '../../listing/fields.ts';
import { MAX_RUN_SECONDS } from '../../playbooks/job-runner.ts';
import { argumentProblem, limitProblem } from '../../playbooks/playbook.ts';
import { extraVariablesProblem } from '../../playbooks/variables.ts';
import { type Asks, DEFAULT_OPTIONS, type JobOptions, PROMPTS } from '../../store/job-options.ts';

/** The controller's default of MAX_FORKS, with which it caps larger values of templates. */
const MAX_FORKS = 200;

const VERBOSITIES = ['Normal', 'Verbose', 'More Verbose', 'Debug', 'Connection Debug', 'WinRM Debug'];

const DESCRIPTIONS: Readonly<Record<keyof JobOptions, Declared>> = {
  job_type: {
    type: 'choice',
    helpText: "Whether a job makes changes, or only shows what it would change (Ansible's check mode).",
    // The controller's `scan` is for old versions; no template can have it.
    choices: [
      ['run', 'Run'],
      ['check', 'Check'],
    ],
  },
  forks: {
    type: 'integer',
    helpText: `Number of parallel hosts, at most ${MAX_FORKS}. 0 uses Ansible's default.`,
    max: MAX_FORKS,
  },
  limit: { helpText: 'A host pattern. Leave empty for all hosts in the inventory.', check: limitProblem },
  verbosity: {
    type: 'choice',
    helpText: 'How much output Ansible prints.',
    column: sql`x.verbosity::text`,
    choices: VERBOSITIES.map((name, number) => [number, `${number} (${name})`]),
  },
  extra_vars: {
    type: 'json',
    label: 'Extra variables',
    helpText: 'A mapping in YAML or JSON. Values are not evaluated as templates.',
    check: extraVariablesProblem,
    secret: true,
  },
  job_tags: {
    helpText: 'Run only tasks with one of these tags, separated by commas.',
    check: argumentProblem,
  },
  skip_tags: {
    helpText: 'Skip tasks with any of these tags, separated by commas.',
    maxLength: 1024,
    check: argumentProblem,
  },
  start_at_task: {
    helpText: 'Skip all tasks before the one with this name.',
    maxLength: 1024,
    check: argumentProblem,
  },
  force_handlers: { type: 'boolean', helpText: 'Run notified handlers even if a task fails.' },
  become_enabled: { type: 'boolean', label: 'Become', helpText: 'Run all tasks with privilege escalation.' },
  diff_mode: { type: 'boolean', helpText: 'Show changes to files and templates.' },
  allow_simultaneous: {
    type: 'boolean',
    helpText:
      'Whether several jobs of this template can run at the same time. Otherwise, each waits for the previous one.',
  },
  timeout: {
    type: 'integer',
    helpText: `Seconds until a job is stopped, at most ${MAX_RUN_SECONDS}. 0 uses the maximum.`,
    max: MAX_RUN_SECONDS,
  },
};

function described(of: (name: keyof JobOptions, field: Field) => Field): FieldSet['fields'] {
  const fields = Object.entries(declared('x', DESCRIPTIONS));
  return Object.fromEntries(fields.map(([name, field]) => [name, of(name as keyof JobOptions, field)]));
}

/** As fields of a job template. */
export const TEMPLATE_OPTIONS = described((name, field) => ({
  ...field,
  writable: 'change',
  defaultValue: DEFAULT_OPTIONS[name],
}));

/** As read-only fields of a job. */
export const SHOWN_OPTIONS = described((_name, field) => field);

/** As fields of a launch, where null is refused. */
export const LAUNCH_OPTIONS = described((_name, field) => {
  const { column, secret, maxLength, ...rest } = field;
  return { ...rest, writable: 'create', nullable: false };
});

const ASK_LABELS: Readonly<Record<keyof Asks, string>> = {
  ask_job_type_on_launch: 'job type',
  ask_inventory_on_launch: 'inventory',
  ask_limit_on_launch: 'limit',
  ask_variables_on_launch: 'extra variables',
  ask_forks_on_launch: 'forks',
  ask_verbosity_on_launch: 'verbosity',
  ask_tags_on_launch: 'job tags',
  ask_skip_tags_on_launch: 'skip tags',
  ask_diff_mode_on_launch: 'diff mode',
  ask_timeout_on_launch: 'timeout',
};

/** The fields of a job template that say what a launch may override. */
export const ASK_FIELDS = declared(
  'x',
  Object.fromEntries(
    Object.values(PROMPTS).map((name) => [
      name,
      {
        type: 'boolean',
        label: `Prompt for the ${ASK_LABELS[name]} on launch`,
        helpText: `Whether a launch may override the ${ASK_LABELS[name]}.`,
        writable: 'change',
        defaultValue: false,
      },
    ]),
  ),
);
