import { readFileSync } from 'node:fs';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import { type Audit, Baseline } from '../../../src/domain/policy/judge.ts';
import { defaultPolicy, type RuleName, ruleNames } from '../../../src/domain/policy/policy.ts';
import { type Severity, severities } from '../../../src/domain/policy/rule.ts';
import { Rows } from '../../../src/domain/rows.ts';
import { auditTokens } from '../../../src/operations/token-audit/audit-tokens.ts';
import {
  atOrAbove,
  tableReport,
  Worst,
  worstFirstWhereFew,
} from '../../../src/reports/audit/audit-result.ts';
import { csvReport } from '../../../src/reports/audit/csv-report.ts';
import { grouped } from '../../../src/reports/audit/groups.ts';
import { htmlReport } from '../../../src/reports/audit/html-report.ts';
import { jsonReport } from '../../../src/reports/audit/json-report.ts';
import { sarifReport } from '../../../src/reports/audit/sarif-report.ts';
import { noScreen, timeText } from '../../../src/reports/tables/text.ts';
import { stillClock } from '../../support/drafts.ts';
import { databaseDescription, description, MemoryTarget, user } from '../../support/memory-target.ts';
import { application, emptyLog } from '../../support/policy-facts.ts';
import { token } from '../../support/tokens.ts';

const HOSTILE = '<script>alert("1")</script>\u202e\u001b[31m';
const self = description();
const context = { description: self, version: '1.2.3' };
/** Where the reports of {@link estate} come from, as the last columns of a row of CSV. */
const FROM = `,${self.context},${self.address},${self.identity.username},`;

/** Every kind of subject, with hostile names where the controller lets people choose them. */
function estate(): MemoryTarget {
  const target = new MemoryTarget();
  target.self = databaseDescription();
  target.people.push(user(5, HOSTILE, { isActive: false }));
  const hostile = { user: { id: 5, username: HOSTILE }, description: HOSTILE, scope: 'write' };
  target.alive.set(1, token({ id: 1, ...hostile }));
  target.alive.set(2, token({ id: 2, ...hostile }));
  for (let id = 10; id < 40; id += 1) {
    target.alive.set(id, token({ id, description: `use ${id}`, expires: new Date('2027-03-01T12:00:00Z') }));
  }
  target.programs.push(application({ name: HOSTILE, grantType: 'implicit' }));
  target.refresh.rows.set(8, {
    id: 8,
    user: { id: 2, username: 'alice' },
    application: { id: 3, name: HOSTILE },
    created: new Date('2026-11-01'),
    revoked: null,
    accessTokenId: null,
    fingerprint: 'abc',
  });
  return target;
}

function audit(target = estate()) {
  const overdue = { until: '2026-01-01', reason: HOSTILE };
  const policy = {
    ...defaultPolicy,
    'never-used': { ...defaultPolicy['never-used'], exceptions: [overdue] },
  };
  const selector = { all: true } as const;
  return auditTokens({ target, selector, policy, clock: stillClock, statistics: true, openLog: emptyLog });
}

async function text(chunks: AsyncIterable<string>): Promise<string> {
  let all = '';
  for await (const chunk of chunks) all += chunk;
  return all;
}

interface ReportJson {
  readonly findings: readonly {
    rule: string;
    severity: string;
    key: string;
    subject: string;
    message: string;
  }[];
  readonly found: number;
  readonly tokensRead: number;
  readonly visibility: unknown;
}

async function asJson(): Promise<ReportJson> {
  return JSON.parse(await text(jsonReport(await audit(), self))) as ReportJson;
}

describe('JSON', () => {
  test('holds every kind of subject, under the name of its kind', async () => {
    const { findings, found, tokensRead, visibility } = await asJson();
    expect(visibility).toEqual({ kind: 'all' });
    expect(found).toBe(findings.length);
    expect(tokensRead).toBe(32);
    expect(new Set(findings.map(({ subject }) => subject))).toEqual(
      new Set(['exception', 'setting', 'application', 'token', 'user', 'purpose', 'day', 'refreshToken']),
    );
    for (const finding of findings) expect(finding).toHaveProperty(finding.subject);
    const [first] = findings.filter(({ key }) => key === 'token:1');
    expect(first).toMatchObject({
      rule: 'owner-inactive',
      severity: 'critical',
      token: { id: 1, scope: 'write' },
    });
  });

  test('is one document where nothing is found', async () => {
    const quiet = new MemoryTarget();
    const run = await auditTokens({
      target: quiet,
      selector: { ids: [1] },
      policy: defaultPolicy,
      clock: stillClock,
    });
    expect(JSON.parse(await text(jsonReport(run, self)))).toMatchObject({ findings: [], found: 0 });
  });

  test('is left open where the target fails on the way', async () => {
    const target = estate();
    const { tokens } = target;
    target.tokens = (selector) =>
      Rows.inTurn([
        tokens.call(target, selector),
        Rows.once(() => {
          if (selector.all === true) throw new TokenctlError('target_unreachable', 'Gone away');
          return [];
        }),
      ]);
    let written = '';
    const run = await audit(target);
    const reading = (async () => {
      for await (const chunk of jsonReport(run, self)) written += chunk;
    })();
    await expect(reading).rejects.toMatchObject({ cause: { code: 'target_unreachable' } });
    expect(written).toContain('owner-inactive');
    expect(() => JSON.parse(written) as unknown).toThrow();
  });
});

const sarifSchema = JSON.parse(
  readFileSync(new URL('../../support/schemas/sarif-2.1.0.schema.json', import.meta.url), 'utf8'),
) as object;
const ajv = new Ajv2020({ allErrors: true, strict: false });
addFormats.default(ajv);
const validateSarif = ajv.compile(sarifSchema);

describe('where a report comes from', () => {
  test('JSON and CSV name the controller, the account, the time, the selection and the policy', async () => {
    const { origin, ...rest } = JSON.parse(await text(jsonReport(await audit(), self)));
    expect(Object.keys(rest)[0]).toBe('findings');
    expect(origin).toMatchObject({
      context: self.context,
      controller: { address: self.address, version: self.version },
      account: { username: self.identity.username },
      at: stillClock.now().toISOString(),
      selection: 'every token',
      policy: { changed: ['never-used'], rules: { 'unused-for': { days: 90 } } },
    });
    const rows = (await text(csvReport(await audit(), self))).trimEnd().split('\n').slice(1);
    for (const row of rows) {
      expect(row).toContain(FROM);
      expect(row).toMatch(/,every token,"default, with changes to never-used"$/);
    }
    const run = await auditTokens({
      ...{ target: new MemoryTarget(), clock: stillClock },
      ...{ selector: { users: ['alice'] }, policy: defaultPolicy },
    });
    const page = await text(htmlReport(run, context));
    expect(page).toContain('<p class="muted">Audited: tokens of alice. Policy: default.</p>');
    expect(page).toContain(`as ${self.identity.username}</p>`);
  });

  test('HTML has no charts without tokens, and no calendar without a day', async () => {
    const page = async (target: MemoryTarget) => text(htmlReport(await audit(target), context));
    const never = new MemoryTarget();
    never.alive.set(1, token({ id: 1, expires: new Date('3026-01-01') }));
    const one = await page(never);
    expect(one).toContain('<figcaption>Age</figcaption>');
    expect(one).not.toContain('class="day');
    expect(one).toContain(
      'No token expires in the coming year: 0 expired, 0 later, 1 more than 100 years from now.',
    );
    const none = new MemoryTarget();
    none.alive.clear();
    expect(await page(none)).not.toContain('<figure');
  });
});

describe('SARIF', () => {
  interface Log {
    readonly runs: readonly {
      readonly tool: { readonly driver: { readonly rules: readonly { readonly id: string }[] } };
      readonly results: readonly {
        readonly ruleId: string;
        readonly ruleIndex: number;
        readonly level: string;
        readonly partialFingerprints: Readonly<Record<string, string>>;
      }[];
      readonly invocations: readonly { readonly toolExecutionNotifications: readonly object[] }[];
    }[];
  }

  async function log(target = estate()): Promise<Log['runs'][number] & { readonly whole: unknown }> {
    const whole: unknown = JSON.parse(await text(sarifReport(await audit(target), context)));
    const [run] = (whole as Log).runs;
    if (run === undefined) throw new Error('a log without a run');
    return { ...run, whole };
  }

  test('keeps to the schema, with every kind of subject in it', async () => {
    const { whole, results } = await log();
    validateSarif(whole);
    expect(validateSarif.errors).toBeNull();
    expect(results.length).toBe((await asJson()).found);
  });

  test('the schema refuses what SARIF does not know', async () => {
    const { whole } = await log();
    expect(validateSarif({ ...(whole as object), extra: 1 })).toBe(false);
    expect(validateSarif({ version: '2.0.0', runs: [] })).toBe(false);
  });

  test('names rules by index, levels by severity, and findings by fingerprints that last', async () => {
    const { tool, results } = await log();
    expect(tool.driver.rules.map(({ id }) => id)).toEqual(ruleNames);
    for (const { ruleId, ruleIndex } of results) expect(tool.driver.rules[ruleIndex]?.id).toBe(ruleId);
    const prints = results.map(({ partialFingerprints }) => Object.values(partialFingerprints).join());
    expect(new Set(prints).size).toBe(results.length);
    expect(
      (await log()).results.map(({ partialFingerprints }) => Object.values(partialFingerprints).join()),
    ).toEqual(prints);
    expect(results.find(({ ruleId }) => ruleId === 'owner-inactive')?.level).toBe('error');
    expect(results.find(({ ruleId }) => ruleId === 'write-scope')?.level).toBe('note');
  });

  test('notifies of what could not be checked', async () => {
    const target = estate();
    target.refused = ['inactive'];
    const { invocations, whole } = await log(target);
    expect(validateSarif(whole)).toBe(true);
    expect(invocations[0]?.toolExecutionNotifications).toMatchObject([
      { level: 'warning', associatedRule: { id: 'owner-inactive' } },
    ]);
  });
});

describe('HTML', () => {
  test('is one file without script, network or anybody’s markup', async () => {
    const page = await text(htmlReport(await audit(), context));
    expect(page).toMatch(/^<!doctype html>/);
    expect(page.trimEnd()).toMatch(/<\/html>$/);
    expect(page).not.toContain('<script');
    expect(page).not.toMatch(/\b(src|href|url)\s*[=(]/);
    expect(page).not.toContain('\u202e');
    expect(page).not.toContain('\u001b');
    expect(page).toContain('&lt;script&gt;');
    expect(page).toContain("default-src 'none'");
  });

  test('draws the charts that were asked for, and lists findings and what they are about', async () => {
    const page = await text(htmlReport(await audit(), context));
    for (const title of ['Age', 'Expiry', 'Last use', 'Scope', 'Expiries in the coming year']) {
      expect(page).toContain(`<figcaption>${title}</figcaption>`);
    }
    expect(page).toContain('<title>2027-03-01: 30 tokens</title>');
    expect(page).toContain('token 1<');
    expect(page).toContain('1.2.3');
  });

  test('lists the worst thousand, and says so', async () => {
    const target = estate();
    for (let id = 100; id < 1500; id += 1) target.alive.set(id, token({ id, scope: 'write' }));
    const page = await text(htmlReport(await audit(target), context));
    expect(page).toMatch(/The most severe 1,000 of \d,\d{3}\./);
    expect(page.match(/<td class="severity/g)?.length).toBeLessThan(1050);
    expect(page).toContain('owner-inactive');
  });
});

describe('the findings of the page', () => {
  test('are in a table for each rule with what is known of the tokens, and owners are ranked', async () => {
    const target = estate();
    target.people.push(user(6, 'worse', { isActive: false }));
    for (let id = 100; id < 104; id += 1)
      target.alive.set(
        id,
        token({ id, user: { id: 6, username: 'worse' }, application: { id: 3, name: 'CI' } }),
      );
    const page = await text(htmlReport(await audit(target), context));
    expect(page).toMatch(/<h3><span class="severity critical">critical<\/span> owner-inactive /);
    expect(page).toMatch(
      /<th>subject<\/th><th>user<\/th><th>application<\/th><th>scope<\/th><th>created<\/th><th>expires<\/th><th>last used<\/th>/,
    );
    const owners = page.slice(page.indexOf('<h2>Owners</h2>'), page.indexOf('<h2>Findings</h2>'));
    expect(owners.indexOf('>worse<')).toBeGreaterThan(0);
    expect(owners.indexOf('>worse<')).toBeLessThan(owners.indexOf('>alice<'));
    expect(page).not.toContain('overflow-wrap:anywhere');
  });
});

describe('table and CSV', () => {
  test('the worst come first, and the summary last', async () => {
    const lines = (await text(tableReport(await audit(), noScreen, { list: true }))).split('\n');
    expect(lines[0]).toMatch(/^SEVERITY +RULE +SUBJECT +USER +FINDING$/);
    expect(lines[1]).toMatch(/^critical +owner-inactive +token 1 /);
    expect(lines.join('\n')).toMatch(
      /\n\n\d+ findings on 32 tokens: critical 2, high \d+, medium \d+, low \d+\.\n/,
    );
  });

  test('by default a table for each rule, the worst first, without repeating what all of them say', async () => {
    const target = estate();
    for (let id = 100; id < 110; id += 1)
      target.alive.set(id, token({ id, user: { id: 5, username: HOSTILE } }));
    const all = await text(tableReport(await audit(target), noScreen, { floor: 'medium', limit: 3 }));
    const [first = '', ...others] = all.split('\n\n');
    expect(first).toMatch(
      /^critical {2}owner-inactive: 12 findings\n {2}An access token of a deactivated user\. Its owner /,
    );
    expect(first.split('\n')).toHaveLength(7);
    expect(first).toMatch(/\n {2}SUBJECT +USER +SCOPE +CREATED +EXPIRES/);
    expect(first.match(/is deactivated/g)).toHaveLength(1);
    expect(first.trimEnd().split('\n').at(-1)).toBe('  and 9 more');
    expect(all).not.toContain('write-scope: ');
    expect(others.at(-1)).toMatch(
      /^Not shown: \d+ findings below the severity medium\. To show them: --min-severity low\n/,
    );
    const low = await text(tableReport(await audit(target), noScreen, { floor: 'low' }));
    expect(low).toMatch(/\nlow {2}write-scope: 2 findings\n/);
    expect(low).not.toContain('Not shown');
  });

  test('what is said of some of the findings is not said of all', async () => {
    const target = estate();
    target.people.push(user(6, 'gone', { isActive: false }));
    for (let id = 100; id < 103; id += 1)
      target.alive.set(id, token({ id, user: { id: 6, username: 'gone' } }));
    const all = await text(tableReport(await audit(target), noScreen, { limit: 2 }));
    const [first = ''] = all.split('\n\n');
    expect(first).toMatch(/\n {2}An access token of a deactivated user\.\n {2}SUBJECT .* LAST_USED\n/);
  });

  test('a severity leaves findings out, and counts all', async () => {
    const high = atOrAbove(await audit(), 'high');
    const rows = (await text(csvReport(high, self))).trimEnd().split('\n').slice(1);
    expect(rows.length).toBeGreaterThan(2);
    for (const row of rows) expect(row).toMatch(/^(critical|high),/);
    expect(high.summary().bySeverity.low).toBeGreaterThan(0);
  });

  test('CSV names subjects as baselines do, with what is known of tokens', async () => {
    const lastUses = () => Promise.resolve(new Map([[1, new Date('2026-02-03')]]));
    const [heading, first] = (await text(csvReport(await audit(), self, lastUses))).split('\n');
    expect(heading).toBe(
      'severity,rule,subject,user,application,finding,id,scope,created,expires,last_used,description,state,context,controller,account,audited_at,audited,policy',
    );
    expect(first).toMatch(/^critical,owner-inactive,token:1,/);
    expect(first).toMatch(/,1,write,2026-06-01T00:00:00Z,2027-06-01T00:00:00Z,2026-11-19T00:00:00Z,/);
  });

  test('CSV without a finding says so in a row, and where it comes from', async () => {
    const by = (rule: RuleName, target = new MemoryTarget()) =>
      auditTokens({
        ...{ target, selector: { all: true }, policy: defaultPolicy, clock: stillClock },
        rules: [rule],
      });
    const csvOf = async (one: Audit, target = self) => (await text(csvReport(one, target))).split('\n');
    const [, row = '', end] = await csvOf(await by('never-used'));
    expect(row).toMatch(/^,,,,,No findings\.,,,,,,,none,/);
    expect(row).toContain(`${FROM}${timeText(stillClock.now())},`);
    expect(row).toMatch(/,default; only never-used$/);
    expect(end).toBe('');
    // What was not looked at is no finding less.
    const part: typeof self = {
      ...self,
      visibility: { kind: 'part', tokens: 'own', users: 'own', applications: 'own', organizations: [] },
    };
    expect((await csvOf(await by('never-used'), part))[1]).toContain('No findings. Not all tokens are');
    const [, lower] = await csvOf(atOrAbove(await by('write-scope', estate()), 'critical'));
    expect(lower).toMatch(/^,,,,,"2 findings of lower severity, not listed\.",/);
  });

  test('HTML and JSON name the rules where not all of the policy were applied', async () => {
    const one = () =>
      auditTokens({
        ...{ target: estate(), selector: { all: true }, policy: defaultPolicy, clock: stillClock },
        rules: ['never-used'],
        statistics: true,
      });
    expect(await text(htmlReport(await one(), context))).toContain('Policy: default; only never-used.');
    expect(await text(jsonReport(await one(), self))).toMatch(/"only": \[\s*"never-used"\s*\]/);
    expect(await text(htmlReport(await audit(), context))).not.toContain('; only ');
  });

  test('every format tells how many findings are new, known and fixed', async () => {
    const baseline = new Baseline(true);
    for (const key of [
      'owner-inactive token:1',
      'owner-inactive token:77',
      'never-used token:78',
      'gone-rule token:1',
    ])
      baseline.add(key);
    const compared = async (withKnown = false) =>
      auditTokens({
        target: estate(),
        selector: { all: true },
        policy: defaultPolicy,
        clock: stillClock,
        statistics: true,
        baseline,
        withKnown,
      });
    const table = await text(tableReport(await compared(), noScreen));
    expect(table).toMatch(
      /\n\d+ new findings on 32 tokens: .*\n(?: .*\n)*Compared with the baseline: \d+ new, 1 known, 2 fixed\.\n/,
    );
    expect(JSON.parse(await text(jsonReport(await compared(), self)))).toMatchObject({ known: 1, fixed: 2 });
    const sarif = JSON.parse(await text(sarifReport(await compared(true), context)));
    expect(sarif.runs[0].properties.trend).toMatchObject({ known: 1, fixed: 2 });
    const results = sarif.runs[0].results as { ruleId: string; baselineState: string }[];
    const stated = results.map(({ ruleId, baselineState }) => `${ruleId} ${baselineState}`);
    expect(stated).toContain('owner-inactive unchanged');
    expect(stated.filter((each) => each.endsWith('absent'))).toEqual([
      'owner-inactive absent',
      'never-used absent',
    ]);
    expect(new Set(results.map(({ baselineState }) => baselineState)).size).toBe(3);
    validateSarif(sarif);
    expect(validateSarif.errors).toBeNull();
    const rows = (await text(csvReport(await compared(true), self))).trimEnd().split('\n');
    expect(rows.filter((row) => row.includes(`,known${FROM}`))).toEqual([
      expect.stringMatching(/^critical,owner-inactive,token:1,/),
    ]);
    expect(rows.slice(-2)).toEqual([
      expect.stringContaining(
        `critical,owner-inactive,token:77,,,Fixed: neither found nor suppressed any more.,77,,,,,,fixed${FROM}`,
      ),
      expect.stringMatching(/^\w+,never-used,token:78,.*,fixed,/),
    ]);
    expect(rows.slice(1, -2).every((row) => /,(?:new|known),/.test(row))).toBe(true);
    const critical = await text(csvReport(atOrAbove(await compared(true), 'critical'), self));
    expect(critical).not.toContain('token:78');
    const page = await text(htmlReport(await compared(), context));
    expect(page).toContain('<b>2</b><span>fixed since the baseline</span>');
  });
});

describe('order and groups', () => {
  test('few findings are sorted, many come as they are found', async () => {
    const collect = async (few: number) => {
      const found: Severity[] = [];
      for await (const { severity } of worstFirstWhereFew((await audit()).findings, few))
        found.push(severity);
      return found;
    };
    const sorted = await collect(1000);
    const ranks = sorted.map((severity) => severities.indexOf(severity));
    expect(ranks).toEqual(ranks.toSorted((one, other) => other - one));
    const streamed = await collect(3);
    expect(streamed.length).toBe(sorted.length);
    expect(streamed).not.toEqual(sorted);
  });

  test('the worst that are kept are the worst that came', async () => {
    const worst = new Worst(4);
    for await (const finding of (await audit()).findings) worst.add(finding);
    expect(worst.all().map(({ severity }) => severity)).toEqual(['critical', 'critical', 'high', 'high']);
  });

  test('groups count what they share, by severity', async () => {
    const groups = await grouped((await audit()).findings, 'rule');
    const { findings } = await asJson();
    expect(groups.reduce((sum, group) => sum + group.findings, 0)).toBe(findings.length);
    expect(groups.find(({ name }) => name === 'owner-inactive')).toMatchObject({
      findings: 2,
      bySeverity: { critical: 2, low: 0 },
    });
    const users = await grouped((await audit()).findings, 'user');
    expect(users.map(({ name }) => name).sort()).toEqual(['(none)', HOSTILE, 'alice'].sort());
  });
});
