// Runs the SQL on its standard input on the database named by DATABASE_URL: what the recorded steps need.
import pg from 'pg';

let sql = '';
for await (const part of process.stdin.setEncoding('utf8')) sql += part;
const client = new pg.Client({ connectionString: process.env['DATABASE_URL'] });
await client.connect();
await client.query(sql);
await client.end();
