import pg from 'pg';

/** Gives numbers to rows, in order. */
export class Numbers {
  #last = 100_000;
  #lastEntry = 100_000;

  next(): number {
    this.#last += 1;
    return this.#last;
  }

  get lastEntry(): number {
    return this.#lastEntry;
  }

  nextEntry(): number {
    this.#lastEntry += 1;
    return this.#lastEntry;
  }
}

/** A row of a table, as JSON. */
export type Row = Readonly<Record<string, unknown>>;

/** What a real controller wrote, by which other rows are made. */
export interface RealRows {
  /** One row of each table. */
  readonly rows: ReadonlyMap<string, Row>;
  /** The fields that the entry of a new object has, by kind. */
  readonly recorded: ReadonlyMap<string, Row>;
  /** The names of objects that histories refer to. */
  readonly names: ReadonlyMap<string, string>;
  readonly definitions: ReadonlyMap<string, number>;
  readonly contentTypes: ReadonlyMap<string, number>;
}

const TABLES = [
  ...[
    'auth_user',
    'main_unifiedjobtemplate',
    'main_jobtemplate',
    'main_project',
    'main_host',
    'main_inventory',
  ],
  ...['main_oauth2application', 'main_oauth2accesstoken', 'conf_setting'],
] as const;

/** Rows of these are told from others of the table by their type. */
const CHILDREN = { job_template: 'main_jobtemplate', project: 'main_project' } as const;

/** Connects, and reads the rows of the real controller that others are made by. */
export async function openRows(
  url: string,
): Promise<{ readonly client: pg.Client; readonly real: RealRows }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // The stream is older than the histories.
  await client.query("UPDATE main_activitystream SET timestamp = timestamp - interval '100 days'");
  const select = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows;
  const rows = new Map<string, Row>();
  for (const table of TABLES) {
    const [first] = await select(`SELECT to_jsonb(t) AS row FROM ${table} t ORDER BY 1 LIMIT 1`);
    rows.set(table, first?.['row'] as Row);
  }
  for (const [kind, table] of Object.entries(CHILDREN)) {
    const [first] = await select(
      `SELECT to_jsonb(t) AS row FROM main_unifiedjobtemplate t JOIN ${table} c ON c.unifiedjobtemplate_ptr_id = t.id LIMIT 1`,
    );
    rows.set(`main_unifiedjobtemplate:${kind}`, first?.['row'] as Row);
  }
  const entries = await select(
    "SELECT DISTINCT ON (object1) object1, changes::jsonb AS changes FROM main_activitystream WHERE operation = 'create' ORDER BY object1, id",
  );
  const named = await select(
    `SELECT 'organization:' || id AS key, name FROM main_organization UNION ALL
     SELECT 'credential:' || id, name FROM main_credential UNION ALL SELECT 'inventory:' || id, name FROM main_inventory UNION ALL
     SELECT 'project:' || p.id, p.name FROM main_unifiedjobtemplate p JOIN main_project ON unifiedjobtemplate_ptr_id = p.id`,
  );
  const definitions = await select('SELECT name, id FROM dab_rbac_roledefinition');
  const types = await select('SELECT model, id FROM django_content_type');
  return {
    client,
    real: {
      rows,
      recorded: new Map(entries.map(({ object1, changes }) => [String(object1), changes as Row])),
      names: new Map(named.map(({ key, name }) => [String(key), String(name)])),
      definitions: new Map(definitions.map(({ name, id }) => [String(name), Number(id)])),
      contentTypes: new Map(types.map(({ model, id }) => [String(model), Number(id)])),
    },
  };
}
