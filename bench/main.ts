// Runs the benchmarks one after another and writes what they measured to docs/performance.md: a section each, with the day
// and the machine. With names, only those; the sections of the others stay as they are.
// Run: npm run bench [-- NAME…], or npm run bench -- --smoke, which runs each at its smallest size and writes nothing.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { goalText, type Judged, median, shown } from './support/ratio.ts';

const PAGE = join(import.meta.dirname, '../docs/performance.md');
const HEAD = `# Performance

Each row is a ratio against a reference in the same run, turn by turn, and its goal; the median decides. Written by
\`npm run bench\`, which anyone can run: \`npm run bench -- NAME\` measures one section again. A number without a reference has its
unit in its name.
`;

/** Arguments of benchmarks that would take hours with their own defaults. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  'fair-routes': ['--seconds', '0.7', '--database', 'postgresql'],
};

/** What became of one benchmark. */
interface Outcome {
  readonly name: string;
  readonly rows: readonly Judged[];
  /** Why there are no or not all rows; null where it ran to its end. */
  readonly fault: string | null;
  readonly seconds: number;
}

const { values, positionals } = parseArgs({
  options: { smoke: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const all = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts') && file !== basename(import.meta.filename))
  .map((file) => file.slice(0, -'.ts'.length))
  .sort();
for (const name of positionals) {
  if (all.includes(name)) continue;
  console.error(`There is no benchmark ${name}. There are: ${all.join(', ')}.`);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'tokenctl-bench-results-'));
const outcomes: Outcome[] = [];
for (const name of positionals.length > 0 ? positionals : all) {
  console.log(`== ${name}`);
  outcomes.push(await run(name));
}
rmSync(folder, { recursive: true });
for (const { name, rows, fault, seconds } of outcomes) {
  const missed = values.smoke ? 0 : rows.filter(({ met }) => !met).length;
  const state = fault ?? (missed > 0 ? `${missed} of ${rows.length} goals MISSED` : 'ended');
  console.log(`${name.padEnd(20)} ${seconds.toFixed(0).padStart(5)} s  ${state}`);
}
if (!values.smoke) writeFileSync(PAGE, pageWith(outcomes));
if (outcomes.some(({ rows, fault }) => fault !== null || (!values.smoke && rows.some(({ met }) => !met))))
  process.exitCode = 1;

/** Runs one benchmark as a process, for 5 minutes at most in a smoke run, else for 45. */
async function run(name: string): Promise<Outcome> {
  const results = join(folder, `${name}.jsonl`);
  const minutes = values.smoke ? 5 : 45;
  const started = performance.now();
  const child = spawn(process.execPath, [join(import.meta.dirname, `${name}.ts`), ...argumentsOf(name)], {
    env: { ...process.env, BENCH_RESULTS: results, BENCH_SMOKE: values.smoke ? '1' : '0' },
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: minutes * 60_000,
    killSignal: 'SIGKILL',
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  const rows = existsSync(results)
    ? readFileSync(results, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Judged)
    : [];
  const missed = !values.smoke && rows.some(({ met }) => !met);
  const seconds = (performance.now() - started) / 1000;
  return { name, rows, fault: faultOf({ code, signal, missed, rows: rows.length }), seconds };
}

function argumentsOf(name: string): readonly string[] {
  return values.smoke ? [] : (ARGUMENTS[name] ?? []);
}

function faultOf(end: {
  readonly code: number | null;
  readonly signal: string | null;
  readonly missed: boolean;
  readonly rows: number;
}): string | null {
  if (end.signal !== null) return `did not end in time (${end.signal})`;
  // A benchmark ends with 1 where a goal is missed, which its rows tell.
  if (end.code !== 0 && !(end.code === 1 && end.missed)) return `failed with code ${end.code}`;
  return end.rows === 0 ? 'measured nothing' : null;
}

/** The page with the sections of these outcomes in place of the older ones, in the order of their names. */
function pageWith(outcomes: readonly Outcome[]): string {
  const before = existsSync(PAGE)
    ? readFileSync(PAGE, 'utf8')
        .split(/^(?=## )/m)
        .slice(1)
    : [];
  const sections = new Map(before.map((text) => [/^## (.*)$/m.exec(text)?.[1] ?? '', text.trimEnd()]));
  for (const outcome of outcomes) sections.set(outcome.name, section(outcome));
  const kept = [...sections].filter(([name]) => all.includes(name)).sort(([a], [b]) => a.localeCompare(b));
  const missing = all.filter((name) => !sections.has(name));
  const note = missing.length === 0 ? [] : [`Not measured yet: ${missing.join(', ')}.`];
  return `${[HEAD.trimEnd(), ...note, ...kept.map(([, text]) => text)].join('\n\n')}\n`;
}

function section({ name, rows, fault, seconds }: Outcome): string {
  const table = rows.map(({ what, values, goal, met }) => {
    const spread = values.length > 1 ? `${shown(Math.min(...values))} to ${shown(Math.max(...values))}` : '';
    const cells = [what, shown(median(values)), spread, String(values.length), goalText(goal)];
    return `| ${[...cells, met ? 'met' : '**missed**'].join(' | ')} |`;
  });
  return [
    `## ${name}`,
    '',
    purposeOf(name),
    '',
    `Measured on ${new Date().toISOString().slice(0, 10)} at commit ${commit()} in ${seconds.toFixed(0)} seconds: ${machine()}.`,
    ...(fault === null ? [] : ['', `**It ${fault}**: rows can be missing.`]),
    '',
    '| what | median | spread | turns | goal | verdict |',
    '|---|---|---|---|---|---|',
    ...table,
  ].join('\n');
}

/** What the file says of itself, above how to run it. */
function purposeOf(name: string): string {
  const lines = readFileSync(join(import.meta.dirname, `${name}.ts`), 'utf8').split('\n');
  const end = lines.findIndex((line) => /^\/\/ Run:/.test(line) || !line.startsWith('//'));
  return lines
    .slice(0, end)
    .map((line) => line.slice(3))
    .join('\n');
}

function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--untracked-files=no', ':!docs/performance.md') !== '';
  return `${git('rev-parse', '--short', 'HEAD')}${changed ? ' with changes' : ''}`;
}

function machine(): string {
  const { model = 'unknown processor' } = cpus()[0] ?? {};
  const memory = Math.round(totalmem() / 1024 ** 3);
  return `${cpus().length} cores (${model.trim()}), ${memory} GiB, Node.js ${process.versions.node}`;
}
