import { identifier, joined, type Sql } from '@tokenctl/common/db/sql.ts';

/** How a job runs, in templates and in jobs: options of `ansible-playbook` with the controller's names. */
export interface JobOptions {
  /** Whether a job makes changes, or only shows what it would change. */
  readonly job_type: 'run' | 'check';
  /** How many hosts run in parallel; 0 for Ansible's default. */
  readonly forks: number;
  /** A host pattern; empty for all. */
  readonly limit: string;
  /** 0 to 5. */
  readonly verbosity: number;
  /** Variables in YAML or JSON. */
  readonly extra_vars: string;
  readonly job_tags: string;
  readonly skip_tags: string;
  readonly start_at_task: string;
  readonly force_handlers: boolean;
  readonly become_enabled: boolean;
  readonly diff_mode: boolean;
  /** Whether it may run while another job of its template runs. */
  readonly allow_simultaneous: boolean;
  /** Seconds until a running job is stopped; 0 for the maximum. */
  readonly timeout: number;
}

export const DEFAULT_OPTIONS: JobOptions = {
  job_type: 'run',
  forks: 0,
  limit: '',
  verbosity: 0,
  extra_vars: '',
  job_tags: '',
  skip_tags: '',
  start_at_task: '',
  force_handlers: false,
  become_enabled: false,
  diff_mode: false,
  allow_simultaneous: false,
  timeout: 0,
};

/** The names of the options, which are also their columns. */
export const OPTION_NAMES = Object.keys(DEFAULT_OPTIONS) as readonly (keyof JobOptions)[];

/** The options that a launch may override, each with the template's field that allows it. */
export const PROMPTS = {
  job_type: 'ask_job_type_on_launch',
  inventory: 'ask_inventory_on_launch',
  limit: 'ask_limit_on_launch',
  extra_vars: 'ask_variables_on_launch',
  forks: 'ask_forks_on_launch',
  verbosity: 'ask_verbosity_on_launch',
  job_tags: 'ask_tags_on_launch',
  skip_tags: 'ask_skip_tags_on_launch',
  diff_mode: 'ask_diff_mode_on_launch',
  timeout: 'ask_timeout_on_launch',
} as const;

export type Prompt = keyof typeof PROMPTS;

/** Whether a launch of a template may override each option. */
export type Asks = { readonly [Name in (typeof PROMPTS)[Prompt]]: boolean };

/** The names of the fields in {@link Asks}. */
export const ASK_NAMES: readonly (keyof Asks)[] = Object.values(PROMPTS);

/** The columns with these names, qualified with an alias if given. */
export function columnsOf(names: readonly string[], alias?: string): Sql {
  return joined(names.map((column) => identifier(alias === undefined ? column : `${alias}.${column}`)));
}

/** The values with these names, in this order. */
export function pick<T extends object, Name extends keyof T>(from: T, names: readonly Name[]): Pick<T, Name> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Pick<T, Name>;
}
