import type { MissingRight, RightsPurpose, TargetDescription } from '../../operations/ports/target.ts';
import type { Connection } from './connection.ts';
import type { Layout } from './layout.ts';
import { PURPOSES } from './needs/needs.ts';
import { readRole } from './queries/catalogue.ts';
import { AT_ONCE } from './revocation.ts';
import { missingRights } from './rights.ts';
import { TABLES } from './tables.ts';

/** The service reads its table at each request; a controller and a gateway keep what they read for a while. */
const SETTINGS_HOLD: Readonly<Record<Layout, TargetDescription['capabilities']['settingsHold']>> = {
  service: 'at_once',
  controller: 'within_a_minute',
  gateway: 'within_five_minutes',
};

/** Says whose tables these are, and what the role may do with them. */
export async function describeDatabase(connection: Connection, context: string): Promise<TargetDescription> {
  const { layout, recognised, address, database } = connection;
  const { refreshTokens, memberships, settings } = TABLES[layout];
  const { role, missing } = await connection.ask('read', async (queryable) => ({
    role: await readRole(queryable),
    missing: await missingRights(queryable, layout),
  }));
  const may = (purpose: RightsPurpose) => missing.every((right) => right.purpose !== purpose);
  return {
    context,
    address,
    dialect: layout,
    version: null,
    identity: { id: null, username: role, isSuperuser: may('revoke'), isSystemAuditor: may('read') },
    credential: 'database_role',
    transport: database.transport,
    capabilities: {
      refreshTokens: mayRead(missing, refreshTokens),
      sessions: recognised.tellsSessions && mayRead(missing, 'django_session', memberships),
      lastUsed: true,
      settings: mayRead(missing, settings),
      settingsHold: recognised.ofTheService ? 'at_once' : SETTINGS_HOLD[layout],
      createTokens: may('create'),
      deactivateUsers: may('users'),
      identifies: 'by_hash',
      changes: PURPOSES.some((purpose) => purpose !== 'read' && may(purpose)),
      batchSize: AT_ONCE,
    },
    missingRights: missing,
  };
}

/** Whether no right to read one of these tables is missing. */
function mayRead(missing: readonly MissingRight[], ...tables: string[]): boolean {
  const lacks = (table: string) =>
    missing.some(({ purpose, grant }) => purpose === 'read' && grant.includes(`.${table} TO `));
  return !tables.some(lacks);
}
