import { hostname, userInfo } from 'node:os';
import type { Environment } from '../config/paths.ts';
import type { TargetDescription } from '../operations/ports/target-description.ts';

/** Who asks: the user of this machine, the machine, and who that user is to the target. */
export function actorOf(environment: Environment, { identity }: TargetDescription): Record<string, string> {
  return { ...operatorOf(environment), as: identity.username };
}

/** The user of this machine, and the machine: who works on what belongs to no target. */
export function operatorOf(environment: Environment): Record<string, string> {
  const behindSudo = environment['SUDO_USER'];
  return { user: userName(), host: hostname(), ...(behindSudo && { sudo_user: behindSudo }) };
}

/** A container may run under a number that no name belongs to. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
