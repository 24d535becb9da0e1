import type { Queryable } from '../../db/database.ts';

/** What the activity stream keeps of one change. `changes` holds no secret: values are masked before. */
export interface Activity {
  readonly operation: 'create' | 'update' | 'delete' | 'associate' | 'disassociate';
  readonly at: Date;
  readonly changes: Readonly<Record<string, unknown>>;
  readonly object1: string;
  readonly object2?: string;
  readonly relationship?: string;
  readonly actorId: number | null;
  readonly node: string;
  readonly setting?: Readonly<Record<string, unknown>>;
  /** The token or user that it is about, while that exists. */
  readonly tokenId?: number;
  readonly userId?: number;
}

/** Adds an entry, in the transaction of the change itself: neither stands without the other. */
export async function insertActivity(transaction: Queryable, activity: Activity): Promise<void> {
  const [row] = await transaction.query<{ id: number }>(
    `INSERT INTO main_activitystream
       (operation, timestamp, changes, object1, object2, object_relationship_type, actor_id, action_node, setting)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb) RETURNING id`,
    [
      activity.operation,
      activity.at,
      JSON.stringify(activity.changes),
      activity.object1,
      activity.object2 ?? '',
      activity.relationship ?? '',
      activity.actorId,
      activity.node,
      JSON.stringify(activity.setting ?? {}),
    ],
  );
  if (row === undefined) return;
  if (activity.tokenId !== undefined) {
    await transaction.execute(
      'INSERT INTO main_activitystream_o_auth2_access_token (activitystream_id, oauth2accesstoken_id) VALUES ($1, $2)',
      [row.id, activity.tokenId],
    );
  }
  if (activity.userId !== undefined) {
    await transaction.execute(
      'INSERT INTO main_activitystream_user (activitystream_id, user_id) VALUES ($1, $2)',
      [row.id, activity.userId],
    );
  }
}

/** An entry as the API shows it. */
export interface ActivityRecord {
  readonly id: number;
  readonly timestamp: Date;
  readonly operation: string;
  readonly changes: string;
  readonly object1: string;
  readonly object2: string;
  readonly object_relationship_type: string;
  readonly action_node: string;
  readonly setting: Readonly<Record<string, unknown>>;
  readonly actor_id: number | null;
  readonly actor_username: string | null;
  readonly actor_first_name: string | null;
  readonly actor_last_name: string | null;
  readonly deleted_actor: Readonly<Record<string, unknown>> | null;
  readonly token_id: number | null;
  readonly token_user_id: number | null;
  readonly token_description: string | null;
  readonly token_scope: string | null;
  readonly about_user_id: number | null;
  readonly about_username: string | null;
}

/** Rows `s` of main_activitystream with the actor `u`, the token `t` and the user `b` they are about. */
export const ACTIVITY_FROM = `main_activitystream s
  LEFT JOIN auth_user u ON u.id = s.actor_id
  LEFT JOIN main_activitystream_o_auth2_access_token st ON st.activitystream_id = s.id
  LEFT JOIN main_oauth2accesstoken t ON t.id = st.oauth2accesstoken_id
  LEFT JOIN main_activitystream_user su ON su.activitystream_id = s.id
  LEFT JOIN auth_user b ON b.id = su.user_id`;

/** The columns of an {@link ActivityRecord} over {@link ACTIVITY_FROM}. */
export const ACTIVITY_COLUMNS = `
  s.id, s.timestamp, s.operation, s.changes, s.object1, s.object2, s.object_relationship_type, s.action_node,
  s.setting, s.actor_id, u.username AS actor_username, u.first_name AS actor_first_name,
  u.last_name AS actor_last_name, s.deleted_actor, t.id AS token_id, t.user_id AS token_user_id,
  t.description AS token_description, t.scope AS token_scope, b.id AS about_user_id,
  b.username AS about_username`;

/** Keeps the name of a user who is about to be deleted in the entries that he or she caused. */
export async function keepDeletedActor(
  transaction: Queryable,
  user: {
    readonly id: number;
    readonly username: string;
    readonly first_name: string;
    readonly last_name: string;
  },
): Promise<void> {
  const { id, username, first_name, last_name } = user;
  await transaction.execute('UPDATE main_activitystream SET deleted_actor = $2::jsonb WHERE actor_id = $1', [
    id,
    JSON.stringify({ id, username, first_name, last_name }),
  ]);
}
