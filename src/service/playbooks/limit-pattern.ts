const LONGEST = 1024;
const CONTROL = /\p{Cc}/u;

/**
 * What is wrong with a limit (a host pattern of Ansible), or null. It travels as one argument of the form
 * `--limit=value`, so it can neither be an option of its own nor reach a shell; what Ansible itself would do
 * with it beyond choosing hosts is refused: `@file` reads a file of the service's machine.
 */
export function limitProblem(limit: string): string | null {
  if (limit.length > LONGEST) return `Ensure this field has no more than ${LONGEST} characters.`;
  if (CONTROL.test(limit)) return 'Control characters are not allowed.';
  return limit.includes('@') ? 'A limit cannot be read from a file: @ is not allowed.' : null;
}
