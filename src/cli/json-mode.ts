/** Whether the arguments ask for JSON: `--json` anywhere before a bare `--`. */
export function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end === -1 ? argv : argv.slice(0, end)).includes('--json');
}
