/** How a job runs: the fields of templates and launches, and what the details show. */

import type { FormField, FormValues } from '@tokenctl/common/web/form-fields.ts';
import type { Asks, JobOptions, Prompt } from '../../src/store/job-options.ts';
import { initialOf } from '../resource-forms.tsx';

const VERBOSITIES = ['Normal', 'Verbose', 'More verbose', 'Debug', 'Connection debug', 'WinRM debug'];

const LIMIT_HELP = 'A host pattern, such as "web*:!web3". Leave empty for all hosts.';

/** The fields of the options by name, in the order of the form. */
const FIELDS: Readonly<Record<keyof JobOptions, Omit<FormField, 'name'>>> = {
  job_type: {
    label: 'Job type',
    kind: 'select',
    choices: [
      ['run', 'Run'],
      ['check', 'Check: shows what would change without changing anything'],
    ],
  },
  limit: { label: 'Limit', help: LIMIT_HELP },
  extra_vars: {
    label: 'Extra variables',
    kind: 'textarea',
    help: 'A mapping in YAML or JSON. Values are not evaluated as templates.',
  },
  job_tags: { label: 'Job tags', help: 'Run only tasks with one of these tags, separated by commas.' },
  skip_tags: { label: 'Skip tags', maxLength: 1024, help: 'Skip tasks with any of these tags.' },
  start_at_task: { label: 'Start at task', maxLength: 1024 },
  verbosity: {
    label: 'Verbosity',
    kind: 'select',
    choices: VERBOSITIES.map((name, number) => [String(number), `${number} (${name})`]),
  },
  forks: { label: 'Forks', kind: 'number', help: "Number of parallel hosts. 0 uses Ansible's default." },
  timeout: {
    label: 'Timeout',
    kind: 'number',
    help: 'Seconds until a job is stopped. 0 uses the longest time that the service allows.',
  },
  diff_mode: { label: 'Show changes', kind: 'checkbox', help: 'Shows changes to files and templates.' },
  become_enabled: { label: 'Privilege escalation', kind: 'checkbox' },
  force_handlers: { label: 'Force handlers', kind: 'checkbox', help: 'Runs handlers even if a task fails.' },
  allow_simultaneous: {
    label: 'Allow simultaneous jobs',
    kind: 'checkbox',
    help: 'Otherwise, each job of this template waits for the previous one.',
  },
};

const NAMES = Object.keys(FIELDS) as readonly (keyof JobOptions)[];

/** What a launch may override, each with the template's field that allows it and its label. */
const ASKS: Readonly<Record<Prompt, readonly [ask: keyof Asks, words: string]>> = {
  limit: ['ask_limit_on_launch', 'limit'],
  inventory: ['ask_inventory_on_launch', 'inventory'],
  job_type: ['ask_job_type_on_launch', 'job type'],
  extra_vars: ['ask_variables_on_launch', 'extra variables'],
  job_tags: ['ask_tags_on_launch', 'job tags'],
  skip_tags: ['ask_skip_tags_on_launch', 'skip tags'],
  verbosity: ['ask_verbosity_on_launch', 'verbosity'],
  forks: ['ask_forks_on_launch', 'forks'],
  timeout: ['ask_timeout_on_launch', 'timeout'],
  diff_mode: ['ask_diff_mode_on_launch', 'changes to show'],
};

const PROMPTS = Object.keys(ASKS) as readonly Prompt[];

function optionField(name: keyof JobOptions): FormField {
  return { name, ...FIELDS[name] };
}

const INVENTORY_FIELD: FormField = {
  name: 'inventory',
  label: 'Inventory',
  kind: 'lookup',
  collection: '/api/v2/inventories/',
};

/** The fields of a template: its options, and its prompts. */
export function templateFields(): readonly FormField[] {
  const asks = Object.values(ASKS).map(
    ([name, words]) =>
      ({
        name,
        label: `Prompt for ${words} on launch`,
        kind: 'checkbox',
        section: 'Prompt on launch',
      }) as const,
  );
  return [...NAMES.map((name) => ({ ...optionField(name), section: 'Job options' })), ...asks];
}

export function promptsOf(template: Partial<Asks>): readonly Prompt[] {
  return PROMPTS.filter((name) => template[ASKS[name][0]] === true);
}

export function launchFields(prompts: readonly Prompt[]): readonly FormField[] {
  return prompts.map((name) => (name === 'inventory' ? INVENTORY_FIELD : optionField(name)));
}

/** The initial values: those of the template. */
export function launchValues(
  prompts: readonly Prompt[],
  defaults: Partial<JobOptions> & { readonly inventory?: { readonly id?: number | null } },
): FormValues {
  return Object.fromEntries(
    prompts.map((name) => [
      name,
      name === 'inventory' ? String(defaults.inventory?.id ?? '') : initialOf(optionField(name), defaults),
    ]),
  );
}

/** The entered values in the form of a launch request. */
export function launchBody(values: FormValues): Readonly<Record<string, unknown>> {
  const { inventory, ...options } = values;
  return inventory === undefined || inventory === '' ? options : { ...options, inventory: Number(inventory) };
}

/** The options with unusual values, for the details. */
export function optionFacts(
  options: Partial<JobOptions>,
): readonly (readonly [string, string | undefined])[] {
  return NAMES.map((name) => {
    const { label, choices = [] } = FIELDS[name];
    const value = initialOf(optionField(name), options);
    if (name === 'limit') return [label, value === '' ? 'All hosts of the inventory' : String(value)];
    const isUsual =
      value === initialOf(optionField(name), undefined) || (name === 'extra_vars' && value === '{}');
    if (isUsual) return [label, undefined];
    return [
      label,
      typeof value === 'boolean' ? 'Yes' : (choices.find(([each]) => each === value)?.[1] ?? value),
    ];
  });
}

export function asksText(template: Partial<Asks>): string {
  const words = promptsOf(template).map((name) => ASKS[name][1]);
  return words.length === 0 ? 'Nothing' : words.join(', ').replace(/^./, (first) => first.toUpperCase());
}
