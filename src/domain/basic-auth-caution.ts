/**
 * What else turning Basic authentication off does there, in sentences; null where it does nothing else. A platform
 * gateway's web interface logs local accounts in with it (the gateway's manual).
 */
export function basicAuthCaution(dialect: 'controller' | 'gateway' | 'service'): string | null {
  if (dialect !== 'gateway') return null;
  return 'With it off, local accounts cannot log in to the web interface of a gateway either: where there are no others, nobody can.';
}
