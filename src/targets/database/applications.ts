import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  pbkdf2Sync,
  randomBytes,
  randomInt,
  timingSafeEqual,
} from 'node:crypto';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import { type Sql, shared, sql } from '@tokenctl/common/db/sql.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import type { Application } from '../../domain/token.ts';
import type { ApplicationDetails } from '../../operations/ports/target-parts.ts';
import { gatewayChanges, insertEntries } from './activity-entries.ts';
import type { Connection } from './connection.ts';
import { dateOf, milliseconds } from './queries.ts';
import { deleteAccessTokens, deleteRefreshTokenRows } from './revocation.ts';
import { ID_TOKENS, type Layout, TABLES } from './tables.ts';

interface ApplicationRow extends Omit<Application, 'created'> {
  readonly created: number;
}

const COLUMNS = sql`a.id, a.name, a.client_type AS "clientType", a.authorization_grant_type AS "grantType",
       ${milliseconds(sql`a.created`)} AS created`;

/** All applications, or those with these names, ascending by id. */
export async function readApplications(
  database: Queryable,
  { layout, names }: { layout: Layout; names: readonly string[] | null },
): Promise<Application[]> {
  const wanted = shared(names);
  const rows = await sql`SELECT ${COLUMNS}
    FROM ${TABLES[layout].applications} a WHERE ${wanted}::text[] IS NULL OR a.name = ANY(${wanted}::text[])
    ORDER BY a.id`.rows<ApplicationRow>(database);
  return rows.map((row) => ({ ...row, created: dateOf(row.created) }));
}

interface DetailsRow extends ApplicationRow, Omit<ApplicationDetails, 'redirectUris' | 'created'> {
  readonly uris: string;
}

/** One application with its details; null if the id does not exist. */
export async function readApplication(
  connection: Connection,
  id: number,
): Promise<ApplicationDetails | null> {
  try {
    const row = await sql`SELECT ${COLUMNS}, a.description, a.client_id AS "clientId",
        a.organization_id AS "organizationId", a.redirect_uris AS uris,
        a.skip_authorization AS "skipAuthorization"
      FROM ${TABLES[connection.layout].applications} a
      WHERE a.id = ${id}`.first<DetailsRow>(connection.database);
    if (row === null) return null;
    const { uris, created, ...rest } = row;
    const idTokens = await countIdTokens(connection, id);
    return {
      ...rest,
      idTokens: idTokens ?? undefined,
      created: dateOf(created),
      redirectUris: uris.split(/\s+/).filter((uri) => uri !== ''),
    };
  } catch (error) {
    throw await connection.explain('applications', error);
  }
}

/** The number of id tokens of an application; null if there is no table of them or the role may not read it. */
async function countIdTokens({ recognized, database }: Connection, id: number): Promise<number | null> {
  if (!recognized.hasIdTokens) return null;
  const isReadable = sql`SELECT WHERE has_column_privilege(${ID_TOKENS.text}, 'application_id', 'SELECT')`;
  if (!(await isReadable.exists(database))) return null;
  const row = await sql`SELECT count(*)::int AS count FROM ${ID_TOKENS} t
    WHERE t.application_id = ${id}`.first<{ count: number }>(database);
  return row?.count ?? 0;
}

/** Statements that delete all references to an application except tokens. No foreign key cascades. */
function deletionsOfReferring(layout: Layout, id: number): readonly Sql[] {
  const codes = sql`DELETE FROM oauth2_provider_grant WHERE application_id = ${id}`;
  if (layout === 'gateway') return [codes];
  return [codes, sql`DELETE FROM main_activitystream_o_auth2_application WHERE oauth2application_id = ${id}`];
}

/** A controller's entry about a deleted application [seen on 24.6.1], without the organization's name. */
const CONTROLLER_DELETED = sql`'{"name": ' || to_json(a.name::text) || ', "description": ' || to_json(a.description::text)
    || ', "client_type": ' || to_json(a.client_type::text) || ', "redirect_uris": ' || to_json(a.redirect_uris::text)
    || ', "authorization_grant_type": ' || to_json(a.authorization_grant_type::text)
    || ', "skip_authorization": ' || a.skip_authorization::text || ', "id": ' || a.id || '}'`;

const GATEWAY_DELETED = gatewayChanges(
  'removed_fields',
  sql`jsonb_build_object('id', a.id::text, 'name', a.name, 'description', a.description, 'client_id', a.client_id,
    'client_type', a.client_type, 'redirect_uris', a.redirect_uris, 'client_secret', '$encrypted$',
    'authorization_grant_type', a.authorization_grant_type, 'skip_authorization', a.skip_authorization,
    'organization', a.organization_id::text)`,
);

/**
 * Deletes an application with its tokens in one transaction, and records it in the activity stream without an
 * actor. The row is locked first, so that no token can be issued for it meanwhile.
 * @returns Whether it existed.
 * @throws TokenctlError `busy` if another transaction locks one of its tokens.
 */
export function deleteApplication(connection: Connection, id: number): Promise<boolean> {
  const { layout } = connection;
  const { applications, accessTokens, refreshTokens } = TABLES[layout];
  const ids = (database: Queryable, table: Sql) =>
    sql`SELECT t.id FROM ${table} t WHERE t.application_id = ${id}`.ids(database);
  return connection.write('applications', async (transaction) => {
    const isFound = await sql`SELECT a.id FROM ${applications} a WHERE a.id = ${id} FOR UPDATE`.exists(
      transaction,
    );
    if (!isFound) return false;
    const tokens = await ids(transaction, accessTokens);
    const revoked = await deleteAccessTokens(transaction, { layout, ids: tokens, withRefreshTokens: false });
    const refresh = await ids(transaction, refreshTokens);
    const deleted = await deleteRefreshTokenRows(transaction, { layout, ids: refresh });
    if (revoked.length < tokens.length || deleted.length < refresh.length)
      throw new TokenctlError('busy', `Another transaction holds a token of application ${id}`, {
        hint: 'Run the same command again.',
      });
    for (const statement of deletionsOfReferring(layout, id)) await statement.execute(transaction);
    if (connection.recognized.hasIdTokens) {
      await sql`DELETE FROM ${ID_TOKENS} WHERE application_id = ${id}`.execute(transaction);
    }
    await insertEntries(layout, {
      operation: 'delete',
      objectType: 'application',
      id: sql`a.id`,
      changes: layout === 'gateway' ? GATEWAY_DELETED : CONTROLLER_DELETED,
      from: sql`FROM ${applications} a WHERE a.id = ${id}`,
    }).execute(transaction);
    return sql`DELETE FROM ${applications} WHERE id = ${id}`.touchesOne(transaction);
  });
}

/** As long as the secrets of a controller and a gateway: about 762 bits. */
const SECRET_LENGTH = 128;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A gateway's iterations (Django 4.2), which each stored hash includes. */
const ITERATIONS = 600_000;
const SALT_LENGTH = 22;

/**
 * Gives an application a new client secret, stored as its own program does: encrypted in a controller, hashed
 * in a gateway and in the service. Re-reads the row before the commit.
 * @throws TokenctlError as `AccessChanges.replaceClientSecret`.
 */
export function replaceClientSecret(
  connection: Connection,
  id: number,
  controllerKey: Secret | undefined,
): Promise<Secret> {
  const { layout } = connection;
  const { applications } = TABLES[layout];
  const value = randomLetters(SECRET_LENGTH);
  return connection.write('applications', async (transaction) => {
    const row = await sql`SELECT a.client_type, a.client_secret FROM ${applications} a
      WHERE a.id = ${id} FOR UPDATE`.first<{ client_type: string; client_secret: string }>(transaction);
    if (row === null) throw new TokenctlError('not_found', `No application has the ID ${id}`);
    if (row.client_type !== 'confidential') {
      throw new TokenctlError('unsupported', `Application ${id} is a public client, which has no secret`);
    }
    const stored = storedForm(layout, { value, before: row.client_secret, controllerKey });
    const changedAt = layout === 'gateway' ? sql`modified` : sql`updated`;
    await sql`UPDATE ${applications} SET client_secret = ${stored}, ${changedAt} = now()
      WHERE id = ${id}`.execute(transaction);
    await secretChanged(layout, id).rows(transaction);
    return new Secret(value);
  });
}

/** The entry about a new secret. A controller's entries also have a link. */
function secretChanged(layout: Layout, application: number): Sql {
  const isGateway = layout === 'gateway';
  const id = sql`${application}::bigint`;
  const entry = insertEntries(layout, {
    operation: 'update',
    objectType: 'application',
    id,
    changes: isGateway
      ? gatewayChanges('changed_fields', sql`'{"client_secret": ["$encrypted$", "$encrypted$"]}'::jsonb`)
      : sql`'{"client_secret": ["hidden", "hidden"]}'`,
    from: isGateway ? sql`RETURNING id` : sql`WHERE ${id} IS NOT NULL RETURNING id`,
  });
  if (isGateway) return entry;
  return sql`WITH entry AS (${entry})
    INSERT INTO main_activitystream_o_auth2_application (activitystream_id, oauth2application_id)
    SELECT e.id, ${id} FROM entry e`;
}

function storedForm(
  layout: Layout,
  secret: { readonly value: string; readonly before: string; readonly controllerKey: Secret | undefined },
): string {
  const { value, before, controllerKey } = secret;
  switch (layout) {
    case 'service':
      return createHash('sha256').update(value).digest('hex');
    case 'gateway': {
      if (!before.startsWith('pbkdf2_sha256$')) throw otherForm();
      const salt = randomLetters(SALT_LENGTH);
      const key = pbkdf2Sync(value, salt, ITERATIONS, 32, 'sha256').toString('base64');
      return `pbkdf2_sha256$${ITERATIONS}$${salt}$${key}`;
    }
    case 'controller': {
      if (controllerKey === undefined) {
        throw new TokenctlError('configuration', 'The SECRET_KEY of the controller is missing');
      }
      if (!before.startsWith(ENCRYPTED)) throw otherForm();
      const keys = keysFrom(controllerKey);
      requireKey(before, keys);
      return encrypt(value, keys);
    }
  }
}

function otherForm(): TokenctlError {
  return new TokenctlError(
    'unsupported',
    'The client secret is stored in a form that tokenctl does not know',
    { hint: 'Delete the application and create it again.' },
  );
}

/** The prefix of the Fernet token, which is base64-encoded once more, in a controller's columns [seen on 24.6.1]. */
const ENCRYPTED = '$encrypted$UTF8$AESCBC$';
const SIGNATURE_LENGTH = 32;
const HEADER_LENGTH = 9;
const IV_LENGTH = 16;

/** The keys of the Fernet specification, with AES-256 instead of AES-128. */
interface Keys {
  readonly signing: Buffer;
  readonly encryption: Buffer;
}

/** A controller derives the keys from its SECRET_KEY and the field's name, which is `value` for a client secret. */
function keysFrom(controllerKey: Secret): Keys {
  const digest = createHash('sha512').update(controllerKey.reveal()).update('value').digest();
  return { signing: digest.subarray(0, 32), encryption: digest.subarray(32) };
}

/** Requires the key that encrypted the current secret: another key would lock the application out. */
function requireKey(stored: string, { signing, encryption }: Keys): void {
  const token = Buffer.from(
    Buffer.from(stored.slice(ENCRYPTED.length), 'base64').toString('latin1'),
    'base64url',
  );
  const signed = token.subarray(0, -SIGNATURE_LENGTH);
  const signature = createHmac('sha256', signing).update(signed).digest();
  const isRight =
    token.length > HEADER_LENGTH + IV_LENGTH + SIGNATURE_LENGTH &&
    timingSafeEqual(signature, token.subarray(-SIGNATURE_LENGTH));
  if (!isRight) {
    throw new TokenctlError('configuration', 'This controller encrypts with a different SECRET_KEY', {
      hint: 'Nothing was changed. Check the --secret-key file.',
    });
  }
  const iv = signed.subarray(HEADER_LENGTH, HEADER_LENGTH + IV_LENGTH);
  const decipher = createDecipheriv('aes-256-cbc', encryption, iv);
  Buffer.concat([decipher.update(signed.subarray(HEADER_LENGTH + IV_LENGTH)), decipher.final()]);
}

/** A Fernet token: version, seconds, initialization vector, ciphertext, HMAC. */
function encrypt(value: string, { signing, encryption }: Keys): string {
  const header = Buffer.alloc(HEADER_LENGTH);
  header.writeUInt8(0x80, 0);
  header.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 1000)), 1);
  const iv = randomBytes(IV_LENGTH);
  const cipher = createCipheriv('aes-256-cbc', encryption, iv);
  const signed = Buffer.concat([header, iv, cipher.update(value, 'utf8'), cipher.final()]);
  const signature = createHmac('sha256', signing).update(signed).digest();
  const token = Buffer.concat([signed, signature]).toString('base64');
  const urlSafe = token.replaceAll('+', '-').replaceAll('/', '_');
  return ENCRYPTED + Buffer.from(urlSafe, 'latin1').toString('base64');
}

function randomLetters(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}
