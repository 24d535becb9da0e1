// Tokens audited a second straight at the database with --summary, as a whole process, against psql that copies the
// rows of the audited tokens, turn by turn; and the memory that it takes. What grows with the tokens is a hash for
// each purpose, to find duplicates.
// Run: npm run build && node bench/database-audit.ts [largest number of tokens]

import { startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import { readColumns } from '../src/targets/database/queries.ts';
import { TOKEN_COLUMNS, tokensSql } from '../src/targets/database/tokens.ts';
import { Estates, psql } from './support/database-estate.ts';
import { judge, median, perTurn, sized } from './support/ratio.ts';
import { Tokenctl } from './support/tokenctl-process.ts';

const ROUNDS = sized(5, 1);
const SIZES = sized([100_000, 1_000_000], [1_000, 10_000]);
const largest = Number(process.argv[2] ?? SIZES.at(-1));

/** The query that tokens are listed with, and an audit that shows findings: for all pages at once. */
async function wholeQuery(): Promise<string> {
  let text = '';
  const recorder = {
    query: <Row extends object>(sql: string) => {
      text = sql;
      return Promise.resolve([{} as Row]);
    },
    execute: () => Promise.resolve(0),
  };
  const { layout } = Estates;
  await readColumns(recorder, TOKEN_COLUMNS(layout), tokensSql(layout, [], { after: 0, last: null }));
  // Without what puts each column of a page into one array.
  const [, rows = ''] = /^SELECT .*? FROM \((SELECT .*)LIMIT \d+\) p$/s.exec(text) ?? [];
  return rows.replaceAll(/\$\d+/g, '0');
}

interface Summary {
  readonly tokensRead: number;
  readonly found: number;
}

using tokenctl = new Tokenctl();
const server = await startPostgres();
const estates = await Estates.connect(server.url);
const query = `COPY (${await wholeQuery()}) TO STDOUT`;
const memory: number[] = [];
for (const tokens of SIZES) {
  if (tokens > largest) break;
  await estates.fill(`estate_${tokens}`, { tokens });
  const url = estates.url(`estate_${tokens}`);
  const references: number[] = [];
  const audits: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const started = performance.now();
    await psql(url, query);
    references.push(performance.now() - started);
    const {
      report,
      whole,
      memory: most,
    } = await tokenctl.run<Summary>(url, ['tokens', 'audit', '--summary']);
    if (report.tokensRead !== tokens) throw new Error(`read ${report.tokensRead} of ${tokens} tokens`);
    if (round === 0) console.log(`${tokens} tokens, ${report.found} findings`);
    audits.push(whole);
    memory.push(most);
  }
  const perSecond = (tokens / median(audits)) * 1000;
  console.log(
    `audited ${perSecond.toFixed(0)} tokens/s, psql copied ${((tokens / median(references)) * 1000).toFixed(0)}/s`,
  );
  console.log(`memory: ${Math.max(...memory.slice(-ROUNDS)).toFixed(0)} MB`);
  if (tokens === SIZES.at(-1)) {
    judge('time / time of COPY of the same query', perTurn(audits, references), { atMost: 2 });
    judge('memory, MB', memory.slice(-ROUNDS), { atMost: 200 });
    judge(
      'memory at ten times as many tokens / at as many',
      perTurn(memory.slice(-ROUNDS), memory.slice(0, ROUNDS)),
      { atMost: 1.3 },
    );
  }
}
await estates.close();
await server.stop();
