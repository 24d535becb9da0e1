import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { TokenctlError } from '../domain/errors.ts';
import type { Keywords } from './connection-string.ts';
import type { Environment } from './environment.ts';

/** Where Debian's packages look; elsewhere PGSYSCONFDIR says it. */
const SYSTEM_FOLDER = '/etc/postgresql-common';

/**
 * The connection parameters of a service: of the user's file (PGSERVICEFILE, `~/.pg_service.conf`), or of
 * the system's (`pg_service.conf` in PGSYSCONFDIR)
 * (https://www.postgresql.org/docs/current/libpq-pgservice.html).
 *
 * @throws TokenctlError `configuration` where neither has it, or its entry cannot be read.
 */
export function readService(name: string, environment: Environment): Keywords {
  const files = [
    environment['PGSERVICEFILE'] || join(environment['HOME'] || homedir(), '.pg_service.conf'),
    join(environment['PGSYSCONFDIR'] || SYSTEM_FOLDER, 'pg_service.conf'),
  ];
  for (const file of files) {
    const text = textOf(file);
    const service = text === null ? null : sectionOf(text, name, file);
    if (service !== null) return service;
  }
  throw new TokenctlError('configuration', `There is no database service ${name}`, {
    hint: `Define it in ${files.join(' or ')}.`,
  });
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR')) {
      return null;
    }
    throw new TokenctlError('configuration', `The file of database services ${file} cannot be read`, {
      cause,
    });
  }
}

/** The parameters under `[name]`; null where the file has no such section. */
function sectionOf(text: string, name: string, file: string): Keywords | null {
  let found: Map<string, string> | null = null;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const section = /^\[(.*)\]$/.exec(line)?.[1];
    if (section !== undefined) {
      if (found !== null) break;
      if (section === name) found = new Map();
      continue;
    }
    if (found === null) continue;
    const equals = line.indexOf('=');
    const keyword = line.slice(0, Math.max(equals, 0)).trim();
    if (keyword === '' || keyword === 'service') {
      throw new TokenctlError('configuration', `Line ${index + 1} of ${file} is no connection parameter`);
    }
    // The first of a keyword holds, as in libpq.
    if (!found.has(keyword)) found.set(keyword, line.slice(equals + 1).trim());
  }
  return found;
}
