import type { FastifyInstance } from 'fastify';
import { stringify } from 'yaml';
import { z } from 'zod';
import type { Runtime } from '../app/runtime.ts';
import { policyOf } from '../cli/flags/policy-flags.ts';
import { auditFlow } from '../cli/token-audit/audit-flow.ts';
import { policySchema } from '../config/policy.ts';
import { incompleteText } from '../domain/claims.ts';
import type { Baseline, Finding } from '../domain/policy/judge.ts';
import { ruleNames, rules } from '../domain/policy/policy.ts';
import { severities } from '../domain/policy/rule.ts';
import { applicationOf, ownerOf, subjectKey } from '../domain/policy/subject.ts';
import { auditTokens } from '../operations/token-audit/audit-tokens.ts';
import { trendText, Worst } from '../reports/audit/audit-result.ts';
import { calendarPicture } from '../reports/audit/charts.ts';
import { baselineHeading, parseBaseline } from '../reports/report-file.ts';
import { noScreen } from '../reports/tables/text.ts';
import { inTurns, type Places } from './places.ts';

/** The findings of each rule that the page can list, of each state; the exports have all. */
const MAX_OF_RULE = 200;
/** The findings that are gone since the baseline. */
const MAX_FIXED = 1_000;
/** The owners and applications that are named, of each rule. */
const MAX_NAMES = 30;
/** Audits at a time: over REST each reads every token. */
const AT_ONCE = 2;
/** The largest baseline in a request: some 300,000 findings. */
const MAX_BASELINE = 8 * 1024 * 1024;

/** An audit as the page shows it. */
export type AuditRead = Awaited<ReturnType<typeof audited>>;

/** The audits of the contexts, each made once and kept until it is asked for again or something changed. */
export class Audits {
  readonly #places: Places;
  readonly #kept = new Map<string, Promise<AuditRead>>();
  readonly #inTurn = inTurns(AT_ONCE);

  constructor(places: Places) {
    this.#places = places;
  }

  /** The next one is made anew. */
  forget(place?: string): void {
    if (place === undefined) this.#kept.clear();
    else this.#kept.delete(place);
  }

  /** The audit of a context. Throws what the audit throws, and tries again at the next call. */
  read(place: string): Promise<AuditRead> {
    const known = this.#kept.get(place);
    if (known !== undefined) return known;
    const read = this.#audit(place, undefined);
    this.#kept.set(place, read);
    read.catch(() => this.#kept.get(place) === read && this.#kept.delete(place));
    return read;
  }

  /** An audit that is compared with a baseline; not kept. */
  compare(place: string, baseline: Baseline): Promise<AuditRead> {
    return this.#audit(place, baseline);
  }

  #audit(place: string, baseline: Baseline | undefined): Promise<AuditRead> {
    return this.#inTurn(() => this.#places.work(place, (runtime) => audited(runtime, baseline)));
  }
}

async function audited(runtime: Runtime, baseline: Baseline | undefined) {
  const audit = await auditTokens({
    target: await runtime.target(),
    clock: await runtime.targetClock(),
    policy: policyOf(runtime, {}),
    selector: { all: true },
    baseline,
    withKnown: baseline !== undefined,
    statistics: true,
    openLog: () => runtime.auditLog(),
  });
  const owners = new Counts();
  const ofRules = new Map<string, { readonly owners: Counts; readonly applications: Counts }>();
  const [found, known] = [new WorstByRule(), new WorstByRule()];
  await audit.findings.each((page) => {
    for (const finding of page) {
      const { rule, subject, isKnown } = finding;
      (isKnown === true ? known : found).add(finding);
      if (isKnown === true) continue;
      const ofRule = ofRules.get(rule) ?? { owners: new Counts(), applications: new Counts() };
      ofRules.set(rule, ofRule);
      for (const counts of [owners, ofRule.owners]) counts.add(ownerOf(subject)?.username);
      ofRule.applications.add(applicationOf(subject)?.name);
    }
  });
  const whole = audit.summary();
  const { byRule, ...summary } = whole;
  const fixed = [];
  for (const finding of audit.fixed()) if (fixed.push(finding) >= MAX_FIXED) break;
  return {
    at: audit.now,
    incomplete: incompleteText(await runtime.description()),
    summary,
    /** How it differs from the baseline, as the command says it; null without one. */
    trend: trendText(whole),
    rules: ruleNames
      .filter((rule) => byRule[rule] !== undefined)
      .map((rule) => {
        const { help, appliesTo } = rules[rule];
        const { finds, matters, remedy } = help;
        const { severity, exceptions } = audit.policy[rule];
        return {
          rule,
          count: byRule[rule] ?? 0,
          severity: summary.severities?.[rule] ?? severity,
          /** Whether tokens can be selected by it. */
          selects: appliesTo === 'tokens',
          finds,
          matters,
          remedy,
          /** How many exceptions the policy has for it. */
          exceptions: exceptions.length,
          owners: ofRules.get(rule)?.owners.most() ?? [],
          applications: ofRules.get(rule)?.applications.most() ?? [],
        };
      }),
    owners: owners.most(),
    findings: [
      ...found.all().map((finding) => findingRow(finding, baseline === undefined ? null : 'new')),
      ...known.all().map((finding) => findingRow(finding, 'known')),
      ...fixed.map(({ rule, severity, key }) => ({
        rule,
        severity,
        subject: key,
        owner: null,
        state: 'fixed' as const,
        message: 'Neither found nor suppressed any more.',
        tokenId: null,
      })),
    ],
    kinds: audit.statistics?.byKind() ?? null,
    calendar: audit.statistics && calendarPicture(audit.statistics, audit.now),
  };
}

function findingRow({ rule, severity, subject, message }: Finding, state: 'new' | 'known' | null) {
  return {
    rule,
    severity,
    message,
    subject: subjectKey(subject),
    /** Compared with the baseline; null without one. */
    state,
    owner: ownerOf(subject)?.username ?? null,
    tokenId: subject.kind === 'token' ? subject.token.id : null,
  };
}

/** The worst findings of each rule: whatever the page narrows its list to, it has the first of them. */
class WorstByRule {
  readonly #ofRules = new Map<string, Worst>();

  add(finding: Finding): void {
    const kept = this.#ofRules.get(finding.rule) ?? new Worst(MAX_OF_RULE);
    this.#ofRules.set(finding.rule, kept);
    kept.add(finding);
  }

  /** The worst first. */
  all(): Finding[] {
    const kept = [...this.#ofRules.values()].flatMap((worst) => worst.all());
    return kept.sort((one, other) => severities.indexOf(other.severity) - severities.indexOf(one.severity));
  }
}

class Counts {
  readonly #counts = new Map<string, number>();

  add(name: string | undefined): void {
    if (name !== undefined) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** The most frequent first. */
  most() {
    return Array.from(this.#counts, ([name, count]) => ({ name, count }))
      .sort((one, other) => other.count - one.count)
      .slice(0, MAX_NAMES);
  }
}

/** The reports of the command, and the baseline that it writes. */
const formats = {
  table: ['text/plain; charset=utf-8', 'txt'],
  json: ['application/json', 'json'],
  csv: ['text/csv; charset=utf-8', 'csv'],
  sarif: ['application/sarif+json', 'sarif'],
  html: ['text/html; charset=utf-8', 'html'],
  baseline: ['text/plain; charset=utf-8', 'baseline'],
} as const;

const formatNames = Object.keys(formats) as (keyof typeof formats)[];
const place = z.string().max(300);
const baselineText = z.string().max(MAX_BASELINE);

/** Serves the audits, their reports, and exceptions to propose. */
export function serveAudits(
  app: FastifyInstance,
  { places, audits, version }: { places: Places; audits: Audits; version: string },
): void {
  const reads = { config: { readsOnly: true }, bodyLimit: 2 * MAX_BASELINE } as const;
  app.get('/api/audit', async ({ query }) => await audits.read(z.object({ place }).parse(query).place));
  app.post('/api/audit/comparison', reads, async ({ body }) => {
    const given = z.strictObject({ place, baseline: baselineText }).parse(body);
    return await audits.compare(given.place, await baselineOf(given.baseline));
  });
  app.post('/api/audit/export', reads, async ({ body }, reply) => {
    const given = z
      .strictObject({ place, format: z.enum(formatNames), baseline: baselineText.optional() })
      .parse(body);
    const baseline = given.baseline === undefined ? undefined : await baselineOf(given.baseline);
    const text = await places.work(given.place, (runtime) =>
      exported(runtime, { format: given.format, baseline, version }),
    );
    const [type, ending] = formats[given.format];
    return reply
      .header('Content-Disposition', `attachment; filename="audit.${ending}"`)
      .type(type)
      .send(text);
  });
  app.get('/api/audit/exception', ({ query }) => ({ yaml: exceptionText(exceptionQuery.parse(query)) }));
}

async function baselineOf(text: string): Promise<Baseline> {
  return await parseBaseline(text.split(/\r?\n/), { name: 'baseline', keepsKeys: true });
}

/** A report of the command, or the baseline that it writes. */
async function exported(
  runtime: Runtime,
  options: {
    readonly format: keyof typeof formats;
    readonly baseline: Baseline | undefined;
    readonly version: string;
  },
): Promise<string> {
  const { format, baseline, version } = options;
  const selector = { all: true } as const;
  if (format === 'baseline') {
    const clock = await runtime.targetClock();
    const keys: string[] = [];
    const { findings } = await auditTokens({
      target: await runtime.target(),
      clock,
      policy: policyOf(runtime, {}),
      selector,
      onKey: (key) => keys.push(key),
      openLog: () => runtime.auditLog(),
    });
    await findings.each();
    return `${baselineHeading(clock.now())}${keys.map((key) => `${key}\n`).join('')}`;
  }
  const result = await auditFlow({ runtime, selector, flags: {}, format, version, baseline });
  if (result.kind !== 'streamed') throw new Error('the audit is not a document');
  const chunks: string[] = [];
  for await (const chunk of result.chunks(noScreen)) chunks.push(chunk);
  return chunks.join('');
}

const name = z.string().min(1).max(300);
const exceptionQuery = z.strictObject({
  rule: z.enum(ruleNames),
  user: name.optional(),
  application: name.optional(),
  until: z.iso.date().optional(),
  reason: z.string().trim().min(1, 'say why this is an exception').max(1000),
});

/** An exception as the configuration has it: names mean exactly themselves. */
function exceptionText({ rule, user, application, until, reason }: z.infer<typeof exceptionQuery>): string {
  const exception = {
    ...(user !== undefined && { user: exactly(user) }),
    ...(application !== undefined && { application: exactly(application) }),
    ...(until !== undefined && { until }),
    reason,
  };
  const policy = policySchema.parse({ [rule]: { exceptions: [exception] } });
  return stringify({ policy }, { defaultStringType: 'PLAIN', version: '1.1' });
}

/** The pattern that matches one name. */
function exactly(text: string): string {
  return text.replaceAll(/[*?]/g, '\\$&');
}
