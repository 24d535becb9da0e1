import type { Queryable } from '../../db/database.ts';
import { basicAuthCaution } from '../../domain/dialect.ts';
import type { Reach, StaysAlive } from '../../domain/plan.ts';
import type {
  AuthenticationSettings,
  MissingRight,
  RightsPurpose,
  TargetDescription,
} from '../../operations/ports/target.ts';
import type { Connection } from './connection.ts';
import type { RecognizedLayout } from './layout.ts';
import { PURPOSES } from './required-rights.ts';
import { BATCH_SIZE } from './revocation.ts';
import { missingRights } from './rights.ts';
import { type Layout, TABLES } from './tables.ts';

/** The service reads its settings with each request; a controller and a gateway cache them. */
const SETTINGS_HOLD: Readonly<Record<Layout, TargetDescription['capabilities']['settingsHold']>> = {
  service: 'at_once',
  controller: 'within_a_minute',
  gateway: 'within_five_minutes',
};

/** Describes the database, and what the role may do with it. */
export async function describeDatabase(connection: Connection, context: string): Promise<TargetDescription> {
  const { layout, recognized, address, database } = connection;
  const { refreshTokens, sessionMemberships, settings } = TABLES[layout];
  const { role, missing } = await connection.read(async (queryable) => ({
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
      sessions: recognized.hasSessionOwners && mayRead(missing, 'django_session', sessionMemberships),
      lastUsed: true,
      settings: mayRead(missing, settings),
      settingsHold: recognized.isServiceDatabase ? 'at_once' : SETTINGS_HOLD[layout],
      createTokens: may('create'),
      deactivateUsers: may('users'),
      identifies: 'by_hash',
      changes: PURPOSES.some((purpose) => purpose !== 'read' && may(purpose)),
      batchSize: BATCH_SIZE,
    },
    missingRights: missing,
  };
}

async function readRole(database: Queryable): Promise<string> {
  const [row] = await database.query<{ role: string }>('SELECT current_user::text AS role');
  return row?.role ?? '';
}

function mayRead(missing: readonly MissingRight[], ...tables: string[]): boolean {
  return !tables.some((table) =>
    missing.some(({ purpose, grant }) => purpose === 'read' && grant.includes(`.${table} TO `)),
  );
}

/** What stays alive after access tokens are revoked, where refresh tokens and sessions could have been ended as well. */
export async function staysAlive(
  facts: {
    readonly tokensWithRefreshToken: number;
    readonly reach: Reach;
    readonly recognized: Pick<RecognizedLayout, 'layout' | 'hasSessionOwners'>;
  },
  readSettings: () => Promise<AuthenticationSettings>,
): Promise<readonly StaysAlive[]> {
  const { reach, tokensWithRefreshToken, recognized } = facts;
  const alive: StaysAlive[] = [];
  if (!reach.refreshTokens && tokensWithRefreshToken > 0) {
    alive.push({
      what: 'refresh_tokens',
      count: tokensWithRefreshToken,
      why: 'They create new access tokens, and only access tokens are revoked.',
      remedy:
        'Run the command without --access-only. To revoke refresh tokens that have lost their access token, use --user, --application or --all, or run `tokenctl tokens cleanup`.',
    });
  }
  if (!reach.sessions) {
    alive.push({
      what: 'sessions',
      count: null,
      why: 'Browser sessions stay logged in.',
      remedy: recognized.hasSessionOwners
        ? 'Add --with-sessions, or run `tokenctl sessions expire` with --user or --all.'
        : 'No table holds the owners of sessions. To log out all users, run `DELETE FROM django_session` in this database.',
    });
  }
  if ((await readSettings()).AUTH_BASIC_ENABLED) {
    const caution = basicAuthCaution(recognized.layout);
    alive.push({
      what: 'basic_authentication',
      count: null,
      why: 'The API accepts passwords: a user with a password needs no token, and can create new ones.',
      remedy: `Turn it off with \`tokenctl settings basic-auth off\`, and change the passwords that are known.${caution === null ? '' : ` ${caution}`}`,
    });
  }
  return alive;
}
