/** Names with a meaning for Ansible, which no variable of a user may have. */
export const MEANINGFUL: readonly string[] = [
  ...[
    'ansible_python_interpreter',
    'ansible_perl_interpreter',
    'ansible_connection',
    'ansible_shell_executable',
  ],
  ...['ansible_ssh_executable', 'ansible_ssh_common_args', 'ansible_ssh_extra_args', 'ansible_ssh_args'],
  ...[
    'ansible_sftp_executable',
    'ansible_scp_executable',
    'ansible_ssh_private_key_file',
    'ansible_ssh_pass',
  ],
  ...[
    'ansible_become',
    'ansible_become_exe',
    'ansible_become_flags',
    'ansible_become_method',
    'ansible_password',
  ],
  ...[
    'ansible_remote_tmp',
    'ansible_async_dir',
    'ansible_facts',
    'ansible_local',
    'ansible_env',
    'ansible_version',
  ],
  ...[
    'ansible_playbook_python',
    'ansible_config_file',
    'ansible_play_hosts',
    'ansible_check_mode',
    'ansible_module_compression',
  ],
  ...[
    '_ansible_no_log',
    '_ansible_coverage_remote_output',
    '__ansible_unsafe',
    '__ansible_vault',
    '__ansible_type',
  ],
  ...["delegated_vars['ansible_host']", "delegated_vars['ansible_ssh_host']", 'delegated_vars'],
  ...[
    'discovered_interpreter_python',
    'hostvars',
    'group_names',
    'inventory_hostname',
    'inventory_hostname_short',
  ],
  ...[
    'inventory_dir',
    'inventory_file',
    'playbook_dir',
    'play_hosts',
    'role_path',
    'role_names',
    'role_uuid',
    '<<',
  ],
];

/** Names that look like those, and mean nothing: they may arrive, under exactly this name. */
const LOOK_ALIKES = [
  ...[
    'my_ansible_size',
    'ansible',
    'ansible-user',
    'ans\u0131ble_user',
    '\uff41nsible_user',
    'a\u200bnsible_user',
  ],
  ...[
    'hostvar',
    'Hostvars',
    'inventory_hostnames',
    '<',
    '<<<',
    '< <',
    'ansible\\u005fuser',
    "ansible'user",
    'yes',
    '1:2:3',
  ],
];

const VALUES = [
  'id > /tmp/written; /usr/bin/python3',
  '-oProxyCommand=id',
  "{{ lookup('pipe', 'id') }}",
  '{% raw %}x{% endraw %}',
  '!unsafe x',
  '*alias',
  'yes',
  '1:20',
  '\u2028 \u0085 \u{1f600} \u0007 "\\',
];

/** A text of variables: JSON or YAML. */
export interface HostileDocument {
  readonly text: string;
  /** Whether it has a name with a meaning; otherwise only one that looks like it. */
  readonly isMeaningful: boolean;
}

const json = (value: unknown) => JSON.stringify(value);
/** Each character as an escape: `\\x61` of YAML, `\\u0061` of JSON. */
const escaped = (text: string) =>
  [...text].map((each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');

/** Ways to write a name and its value. */
const FORMS: readonly ((name: string, value: string) => string)[] = [
  (name, value) => json({ [name]: value }),
  (name, value) => json({ size: 1, below: { [name]: value } }),
  (name, value) => json({ list: [[{ deep: { deeper: [{ [name]: value }] } }]] }),
  (name, value) => json({ '<<': { [name]: value } }),
  (name, value) => json({ a: { '<<': [{ [name]: value }] } }),
  (name, value) => `{"${escaped(name)}": ${json(value)}}`,
  (name, value) => `{"a": 1, "a": {${json(name)}: ${json(value)}}}`,
  (name, value) => ` \n{"\\u003c\\u003c": {${json(name)}: ${json(value)}}}`,
  (name, value) => `${json(name)}: ${json(value)}`,
  (name, value) => `'<<': {${json(name)}: ${json(value)}}`,
  (name, value) => `"\\x3c\\x3c":\n  ${json(name)}: ${json(value)}`,
  (name, value) => `base: &base\n  ${json(name)}: ${json(value)}\n<<: *base`,
  (name, value) => `a: &a {${json(name)}: ${json(value)}}\nb: &b {c: 1}\nd:\n  <<: [*b, *a]`,
  (name, value) => `? ${json(name)}\n: ${json(value)}`,
  (name, value) => `? >-\n  ${name}\n: ${json(value)}`,
  (name, value) => `!!str ${json(name)}: ${json(value)}`,
  (name, value) => `&key ${json(name)}: ${json(value)}`,
  (name, value) => `key: &key ${json(name)}\nmap: {*key : ${json(value)}}`,
  (name, value) => `%YAML 1.2\n---\n${json(name)}: ${json(value)}`,
  (name, value) => `%YAML 1.2\n---\n<<: {${json(name)}: ${json(value)}}`,
  (name, value) => `--- # first\na: 1\n...\n---\n${json(name)}: ${json(value)}`,
  (name, value) => `a: !!map {${json(name)}: ${json(value)}}`,
  (name, value) => `a: !!omap [${json(name)}: ${json(value)}]`,
  (name, value) => `a: !unsafe {${json(name)}: ${json(value)}}`,
  (name, value) => `\ufeff${json(name)}: ${json(value)}\r\n`,
  (name, value) => `{"a": [{${json(name)}: ${json(value)}},],}`,
  (name, value) => `a: "${name}: ${escaped(value)}"\nb: {${json(name)}: ~}`,
  (name, value) => `[${json(name)}]: ${json(value)}`,
  (name, value) => `<<: {<<: {<<: {${json(name)}: ${json(value)}}}}`,
];

/** Documents, the same for the same seed: each form in turn, one of four with a name that only looks like a meaningful one. */
export function hostileDocuments(count: number, seed: number): HostileDocument[] {
  const random = generator(seed);
  const one = <T>(values: readonly T[]) => values[Math.floor(random() * values.length)] as T;
  return Array.from({ length: count }, (_none, index) => {
    const form = FORMS[index % FORMS.length] as (typeof FORMS)[number];
    const isMeaningful = random() < 0.75;
    return { text: form(one(isMeaningful ? MEANINGFUL : LOOK_ALIKES), one(VALUES)), isMeaningful };
  });
}

/** Numbers from 0 to 1 (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The names of all mappings in a value. */
export function namesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(namesIn);
  return Object.entries(value).flatMap(([name, each]) => [name, ...namesIn(each)]);
}
