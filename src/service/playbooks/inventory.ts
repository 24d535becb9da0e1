import { Document, isScalar, parse, visit } from 'yaml';
import { JobProblem } from './job-problem.ts';

/** Nothing in it begins an option of ssh, nor a range or pattern of Ansible's inventory. */
const SAFE_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.:-]*$/;

/** What a host may say about how it is reached. Everything else that Ansible reads there names programs to run. */
const CONNECTION: Readonly<Record<string, (value: unknown) => boolean>> = {
  ansible_connection: (value) => value === 'local' || value === 'ssh',
  ansible_host: (value) => typeof value === 'string' && SAFE_NAME.test(value),
  ansible_user: (value) => typeof value === 'string' && SAFE_NAME.test(value),
  ansible_port: (value) => Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536,
};

/**
 * An inventory of Ansible, in YAML, of hosts and their variables.
 *
 * Whoever may write a host's variables must not thereby run programs on the service's machine. So of the
 * variables `ansible_*` only those that say where a host is are passed on, and the texts of all others are
 * marked `!unsafe`: Ansible does not evaluate them as templates. Local hosts use Ansible's own Python.
 *
 * @throws JobProblem for a host whose name or variables cannot be used.
 */
export function renderInventory(
  hosts: readonly { readonly name: string; readonly variables: string }[],
): string {
  const entries = hosts.map(({ name, variables }) => {
    if (!SAFE_NAME.test(name)) throw new JobProblem(`The host name ${JSON.stringify(name)} cannot be used.`);
    return [name, hostVariables(name, variables)] as const;
  });
  const document = new Document({ all: { hosts: Object.fromEntries(entries) } });
  visit(document, {
    Scalar(key, node) {
      if (key !== 'key' && isScalar(node) && typeof node.value === 'string') node.tag = '!unsafe';
    },
  });
  return document.toString();
}

function hostVariables(name: string, text: string): Record<string, unknown> {
  const given = Object.entries(parsed(name, text));
  const kept = given.filter(([key, value]) =>
    key.startsWith('ansible_') ? Object.hasOwn(CONNECTION, key) && CONNECTION[key]?.(value) : true,
  );
  return Object.fromEntries(kept);
}

function parsed(name: string, text: string): object {
  let value: unknown;
  try {
    value = parse(text, { maxAliasCount: 10 });
  } catch (cause) {
    throw new JobProblem(`The variables of the host ${name} are not YAML.`, { cause });
  }
  if (value === null || value === undefined) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value;
  throw new JobProblem(`The variables of the host ${name} are not a mapping.`);
}
