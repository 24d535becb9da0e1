/** The acceptance tests: `npm run test:acceptance`. See docs/acceptance.md. */
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { findOfferedWays } from './access.ts';
import { EXPLANATION, homesFolder, readDescription } from './description.ts';
import { Installation, PREFIX } from './installation.ts';
import { reset } from './manage.ts';
import { makeShared, putBackUnfinished, removeObjects } from './own-objects.ts';
import { lackOf, lineOf, runSuites, summaryOf } from './runner.ts';
import type { AcceptanceSuite } from './scene.ts';
import { SUITES } from './suites.ts';

/** How the program ends. */
const EXIT = { failed: 1, usage: 2, refused: 3, interrupted: 130 } as const;

const say = (text: string) => process.stdout.write(`${text}\n`);

async function main(): Promise<number> {
  const { values, positionals } = argumentsOf(process.argv.slice(2));
  const [file, ...others] = positionals;
  if (file === undefined || values.help === true) {
    say(EXPLANATION);
    return 0;
  }
  if (others.length > 0)
    throw new TokenctlError('usage', `One file at a time; ${others.join(', ')} is too much.`);
  const suites = chosen(values.suite ?? []);
  const it = await Installation.open(readDescription(file, process.env), process.env);
  try {
    say(`Acceptance tests of tokenctl against ${it.requests.url}, a ${it.title}\n`);
    await refuseProduction(it);
    return values.list === true ? await list(it, suites) : await run(it, suites);
  } finally {
    await it.close();
  }
}

function argumentsOf(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        list: { type: 'boolean' },
        suite: { type: 'string', multiple: true },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new TokenctlError('usage', (error as Error).message);
  }
}

function chosen(names: readonly string[]): readonly AcceptanceSuite[] {
  for (const name of names) {
    if (SUITES.some((suite) => suite.name === name)) continue;
    const known = SUITES.map((suite) => suite.name).join(', ');
    throw new TokenctlError('usage', `There is no suite "${name}".`, { hint: `There are: ${known}.` });
  }
  return names.length === 0 ? SUITES : SUITES.filter(({ name }) => names.includes(name));
}

/** Reads how many users and tokens there are, besides those of earlier runs. */
async function refuseProduction(it: Installation): Promise<void> {
  const { limits } = it.description;
  for (const [what, field] of [
    ['users', 'username'],
    ['tokens', 'description'],
  ] as const) {
    const ours = await countOf(it, `${what}/?${field}__startswith=${PREFIX}`);
    const number = (await countOf(it, `${what}/`)) - ours;
    if (number <= limits[what]) continue;
    throw new Refusal(
      `Refused: ${it.requests.url} has ${number} ${what}, and looks like production. Nothing was changed.\n` +
        `If it is a test installation all the same, set limits.${what} in ${it.description.file} to ${number} or more.`,
    );
  }
}

/** The installation may not be tested; the message is for the caller. */
class Refusal extends Error {}

async function countOf(it: Installation, path: string): Promise<number> {
  const answer = await it.request(
    `${path}${path.includes('?') ? '&' : '?'}page_size=1`,
    await it.described(),
  );
  if (answer.status !== 200) {
    throw new Refusal(
      `Refused: the account of \`rest\` cannot list ${path.split('/', 1)[0]}: the answer is ${answer.status}. Nothing was changed.`,
    );
  }
  return Number(answer.body['count']);
}

async function list(it: Installation, suites: readonly AcceptanceSuite[]): Promise<number> {
  const me = await it.request('me/', await it.described());
  const [own] = (me.body['results'] ?? []) as readonly { is_superuser?: boolean }[];
  const isAllowed = own?.is_superuser === true;
  if (!isAllowed) say('The account of `rest` is no superuser: no test may run.\n');
  for (const suite of suites) {
    say(suite.name);
    for (const { name, needs = [] } of suite.scenarios) {
      const lack = isAllowed
        ? lackOf(it, [...suite.needs, ...needs])
        : 'needs a superuser as the account of `rest`';
      say(`  ${lack === null ? 'may run  ' : 'left out '} ${name}${lack === null ? '' : ` (${lack})`}`);
    }
  }
  return 0;
}

async function run(it: Installation, suites: readonly AcceptanceSuite[]): Promise<number> {
  let isStopped = false;
  const stop = () => {
    if (isStopped) process.exit(EXIT.interrupted);
    isStopped = true;
    process.stderr.write(
      'Stops after this test, and removes what the run made. Once more ends it at once.\n',
    );
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  removeHomes(it);
  await it.makeAdminToken();
  await cleanUpBefore(it);
  const began = performance.now();
  let outcomes: Awaited<ReturnType<typeof runSuites<Installation>>> = [];
  let left: readonly string[] = [];
  try {
    await makeShared(it);
    await findOfferedWays(it);
    let shown = '';
    outcomes = await runSuites(it, suites, {
      isStopped: () => isStopped,
      say: (outcome) => {
        if (outcome.suite !== shown) say(outcome.suite);
        shown = outcome.suite;
        say(lineOf(outcome));
      },
    });
  } finally {
    left = await removeAll(it);
    removeHomes(it);
    const wrong = it.allows('allAccess') ? await reset(it.description) : null;
    if (wrong !== null) left = [...left, wrong];
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  say(`\n${summaryOf(outcomes)} It took ${seconds} s.`);
  for (const each of left) say(`Not removed or brought back: ${each}`);
  if (isStopped) say('Stopped before the end.');
  if (isStopped) return EXIT.interrupted;
  return outcomes.some(({ state }) => state === 'failed') || left.length > 0 ? EXIT.failed : 0;
}

/** The secrets that a run gave to tokenctl are in files there. */
function removeHomes({ description }: Installation): void {
  rmSync(homesFolder(description), { recursive: true, force: true });
}

async function cleanUpBefore(it: Installation): Promise<void> {
  const settings = await putBackUnfinished(it);
  if (settings.length > 0) say(`Put back what an earlier run left changed: ${settings.join(', ')}.`);
  const { removed } = await removeObjects(it);
  if (removed.size > 0) say(`Removed what an earlier run left: ${inWords(removed)}.`);
}

/** Removes what the run made, its own token last. Gives what could not be removed. */
async function removeAll(it: Installation): Promise<readonly string[]> {
  const { removed, left } = await removeObjects(it, it.prefix);
  await it.request(`tokens/${it.adminTokenId}/`, it.admin, { method: 'DELETE' });
  say(`\nRemoved what the run made: ${inWords(removed)}.`);
  return left;
}

function inWords(removed: ReadonlyMap<string, number>): string {
  const parts = [...removed].map(
    ([path, number]) => `${number} ${path.replace('/', '').replaceAll('_', ' ')}`,
  );
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}

try {
  process.exitCode = await main();
} catch (error) {
  if (error instanceof Refusal) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = EXIT.refused;
  } else if (error instanceof TokenctlError) {
    process.stderr.write(`${error.message}\n${error.hint === undefined ? '' : `${error.hint}\n`}`);
    process.exitCode = EXIT.usage;
  } else {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = EXIT.failed;
  }
}
