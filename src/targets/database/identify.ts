import { createHash } from 'node:crypto';
import type { Secret } from '../../domain/secret.ts';
import type { Identified } from '../../operations/ports/target.ts';
import type { Connection } from './connection.ts';
import { chunked } from './pages.ts';
import { readByHash } from './queries/identify.ts';

/** Hashes that are asked for at once: where tokens are stored in clear, each question reads all of them. */
const TOGETHER = 5000;

/** Finds out whose token values are by their SHA-256. No value leaves this process. */
export async function* identifyByHash(
  connection: Connection,
  values: readonly Secret[],
): AsyncGenerator<Identified, void> {
  const { layout } = connection;
  const hashes = values.map((value) => createHash('sha256').update(value.reveal()).digest('hex'));
  for (const part of chunked([...hashes.entries()], TOGETHER)) {
    const rows = await connection.ask('read', (database) =>
      readByHash(database, { layout, hashes: part.map(([, hash]) => hash) }),
    );
    const byHash = new Map(rows.map((row) => [row.hash, row]));
    for (const [index, hash] of part) {
      const row = byHash.get(hash);
      if (row === undefined) continue;
      const { kind, id, live, user_id, username } = row;
      const user = user_id === null || username === null ? null : { id: user_id, username };
      yield { index, kind, live, ids: [id], user, fingerprint: hash.slice(0, 12) };
    }
  }
}
