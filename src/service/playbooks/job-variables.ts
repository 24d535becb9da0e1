import { isIPv6 } from 'node:net';
import type { JobAccess } from './isolation.ts';
import { JobProblem } from './project-playbook.ts';
import {
  ansibleJson,
  extraVariablesProblem,
  groupNameProblem,
  isPlainText,
  readVariables,
  SAFE_NAME,
  type Variables,
  variablesProblem,
  withoutOwnPython,
} from './variables.ts';

/**
 * The extra variables of a job, for Ansible.
 *
 * @throws JobProblem if some may not be passed on: they may have been stored before that was checked.
 */
export function renderExtraVariables(text: string, access: JobAccess): string {
  return ansibleJson(checkedVariables('the job', { text, access, problemOf: extraVariablesProblem }));
}

/**
 * An Ansible inventory in JSON: hosts, groups, and their variables.
 *
 * @throws JobProblem for a host or a group with a name that Ansible could read as another, invalid variables, and variables that
 *   may not be passed on: a job never runs on a part of its hosts, or without a part of their variables.
 */
export function renderInventory(
  inventory: {
    readonly variables: string;
    readonly hosts: readonly Named[];
    readonly groups: readonly (Named & {
      readonly hosts: readonly string[];
      readonly children: readonly string[];
    })[];
  },
  access: JobAccess,
): string {
  const variablesOf = (owner: string, text: string) =>
    withoutOwnPython(checkedVariables(owner, { text, access, problemOf: variablesProblem }));
  const hosts = inventory.hosts.map(({ name, variables }) => {
    if (!isHostName(name)) throw invalidName('host', name);
    return [name, variablesOf(`the host ${name}`, variables)];
  });
  const members = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, null]));
  const children = inventory.groups.map(({ name, variables, ...has }) => {
    if (!isGroupName(name)) throw invalidName('group', name);
    const vars = variablesOf(`the group ${name}`, variables);
    return [name, { hosts: members(has.hosts), children: members(has.children), vars }];
  });
  const all = {
    hosts: Object.fromEntries(hosts),
    vars: variablesOf('the inventory', inventory.variables),
    children: Object.fromEntries(children),
  };
  return ansibleJson({ all });
}

/** A host or a group with its stored variables. */
interface Named {
  readonly name: string;
  readonly variables: string;
}

/** The last part of an IPv6 address is no port. */
function isHostName(name: string): boolean {
  return SAFE_NAME.test(name) && isPlainText(name) && (!name.includes(':') || isIPv6(name));
}

/** Excludes what Ansible reads as a pattern of hosts. */
function isGroupName(name: string): boolean {
  return groupNameProblem(name) === null && isPlainText(name) && !/^[!&~@-]|[:,*?[\]]/.test(name);
}

function invalidName(kind: 'host' | 'group', name: string): JobProblem {
  return new JobProblem(
    `Ansible could read the name of the ${kind} ${JSON.stringify(name)} as another. Rename the ${kind}.`,
  );
}

function checkedVariables(
  owner: string,
  given: {
    readonly text: string;
    readonly access: JobAccess;
    readonly problemOf: (text: string) => string | null;
  },
): Variables {
  const problem = given.problemOf(given.text);
  const read = readVariables(given.text);
  if (problem !== null || typeof read === 'string') {
    throw new JobProblem(`The variables of ${owner} are invalid. ${problem ?? read}`);
  }
  if (read['ansible_connection'] === 'local' && !given.access.localConnection) {
    throw new JobProblem(
      `The variables of ${owner} have ansible_connection: local, which the operator of this service did not allow (--jobs-local-connection).`,
    );
  }
  return read;
}
