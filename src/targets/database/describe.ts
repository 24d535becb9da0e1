import type {
  MissingRight,
  RightsPurpose,
  TargetDescription,
} from '../../operations/ports/target-description.ts';
import type { Connection } from './connection.ts';
import { readRole } from './queries/catalogue.ts';
import { AT_ONCE } from './revocation.ts';
import { missingRights, PURPOSES } from './rights.ts';

/** Says whose tables these are, and what the role may do with them. */
export async function describeDatabase(connection: Connection, context: string): Promise<TargetDescription> {
  const { layout, address, database } = connection;
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
      refreshTokens: mayRead(missing, 'oauth2_provider_refreshtoken'),
      sessions: mayRead(missing, 'django_session', 'main_usersessionmembership'),
      lastUsed: true,
      settings: mayRead(missing, 'conf_setting'),
      // The service reads its table at each request; a controller keeps what it read for a while.
      settingsHold: layout === 'service' ? 'at_once' : 'within_a_minute',
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
