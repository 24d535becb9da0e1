// A process of its own: Fastify with one route that looks one token up, by the index, in DATABASE_URL.
import Fastify from 'fastify';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });
const app = Fastify();
app.get('/', async () => {
  const { rows } = await pool.query('SELECT id, scope FROM main_oauth2accesstoken WHERE token = $1', [
    process.env['TOKEN_DIGEST'],
  ]);
  return rows[0];
});
process.send?.(await app.listen({ host: '127.0.0.1', port: 0 }));
process.once('disconnect', () => process.exit());
