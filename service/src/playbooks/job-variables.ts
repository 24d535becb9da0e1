import { isIPv6 } from 'node:net';
import type { JobAccess } from './isolation.ts';
import { JobProblem } from './project-playbook.ts';
import {
  ansibleJson,
  extraVariables,
  groupNameProblem,
  inventoryVariables,
  isPlainText,
  SAFE_NAME,
  type Variables,
} from './variables.ts';
import { VariablesPace } from './variables-pace.ts';

/** The extra variables of a job. Throws JobProblem if some may not be passed on: they may be older than this check. */
export function renderExtraVariables(text: string, access: JobAccess): string {
  return ansibleJson(allowedVariables('the job', extraVariables(text), access));
}

/**
 * An Ansible inventory in JSON: hosts, groups, and their variables. Other requests get their turn between hosts.
 * @throws JobProblem for a host or group name that Ansible could read differently, for invalid variables, and for
 * variables that are not allowed or too long in total: a job never runs on only some of its hosts, or with only some
 * of their variables.
 */
export async function renderInventory(
  inventory: {
    readonly variables: string;
    readonly hosts: readonly Named[];
    readonly groups: readonly (Named & {
      readonly hosts: readonly string[];
      readonly children: readonly string[];
    })[];
  },
  access: JobAccess,
): Promise<string> {
  const pace = new VariablesPace();
  const variablesOf = async (owner: string, text: string) => {
    const problem = await pace.next(text);
    if (problem !== null) throw new JobProblem(`${problem}.`);
    return ansibleJson(allowedVariables(owner, inventoryVariables(text), access));
  };
  const vars = await variablesOf('the inventory', inventory.variables);
  const hosts: [string, string][] = [];
  for (const { name, variables } of inventory.hosts) {
    if (!isHostName(name)) throw invalidName('host', name);
    hosts.push([name, await variablesOf(`the host ${name}`, variables)]);
  }
  const children: [string, string][] = [];
  for (const { name, variables, ...has } of inventory.groups) {
    if (!isGroupName(name)) throw invalidName('group', name);
    const members = {
      hosts: jsonObject(has.hosts.map((host) => [host, 'null'])),
      children: jsonObject(has.children.map((child) => [child, 'null'])),
      vars: await variablesOf(`the group ${name}`, variables),
    };
    children.push([name, jsonObject(Object.entries(members))]);
  }
  const all = { hosts: jsonObject(hosts), vars, children: jsonObject(children) };
  return jsonObject([['all', jsonObject(Object.entries(all))]]);
}

/** A JSON object from values that are already JSON: writing a whole inventory at once would block the process. */
function jsonObject(entries: readonly (readonly [string, string])[]): string {
  return `{${entries.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`;
}

interface Named {
  readonly name: string;
  readonly variables: string;
}

/** The last part of an IPv6 address is not a port. */
function isHostName(name: string): boolean {
  return SAFE_NAME.test(name) && isPlainText(name) && (!name.includes(':') || isIPv6(name));
}

/** Excludes names that Ansible reads as host patterns. */
function isGroupName(name: string): boolean {
  return groupNameProblem(name) === null && isPlainText(name) && !/^[!&~@-]|[:,*?[\]]/.test(name);
}

function invalidName(kind: 'host' | 'group', name: string): JobProblem {
  return new JobProblem(
    `Ansible could interpret the name of the ${kind} ${JSON.stringify(name)} as another name. Rename the ${kind}.`,
  );
}

function allowedVariables(owner: string, read: Variables | string, access: JobAccess): Variables {
  if (typeof read === 'string') throw new JobProblem(`The variables of ${owner} are invalid. ${read}`);
  if (read['ansible_connection'] === 'local' && !access.localConnection) {
    throw new JobProblem(
      `The variables of ${owner} contain ansible_connection: local, which the operator of this service did not allow (--jobs-local-connection).`,
    );
  }
  return read;
}
