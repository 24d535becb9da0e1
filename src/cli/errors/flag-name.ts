/** A flag as it was typed, without the value that may be joined to it: of `--flag=value`, of `-fvalue`. */
export function flagName(typed: string): string {
  return typed.startsWith('--') ? (typed.split('=', 1)[0] ?? '') : typed.slice(0, 2);
}
