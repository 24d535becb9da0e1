import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startPostgres } from './embedded-postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A PostgreSQL server's URL, of a user who may create databases. */
    postgresUrl: string;
    /** Tells the databases of this run from those of others on the same server. */
    testRun: string;
    /** A folder for the template of the embedded databases. */
    embeddedTemplate: string;
    /** How many tokens the test of the policy's rules audits. */
    auditedTokens: number;
    /** How many histories are investigated. */
    histories: number;
    /** How many users a directory has. */
    directoryEntries: number;
    /** After how many lockdowns and offboardings credentials are tried. */
    endings: number;
    /** Whether tests run that wait a minute, kill whole programs or play real playbooks. */
    longTests: boolean;
    /** How many malformed requests the service gets. */
    malformedRequests: number;
  }
}

/**
 * Gives all tests one PostgreSQL server: that of DATABASE_URL, or one that is started for them; and a folder for temporary files,
 * which goes with the run.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-tests-'));
  // Servers that root starts, and jobs of another user, run as others.
  chmodSync(folder, 0o1777);
  process.env['TMPDIR'] = folder;
  const given = process.env['DATABASE_URL'] ?? '';
  const server = given === '' ? await startPostgres() : null;
  const url = server?.url ?? given;
  project.provide('postgresUrl', url);
  project.provide('testRun', randomBytes(4).toString('hex'));
  const embedded = join(folder, 'embedded-templates');
  mkdirSync(embedded);
  project.provide('embeddedTemplate', embedded);
  return async () => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    await server?.stop();
  };
}
