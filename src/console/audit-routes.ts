import type { FastifyInstance } from 'fastify';
import { stringify } from 'yaml';
import { z } from 'zod';
import type { Runtime } from '../app/runtime.ts';
import { policyOf } from '../cli/flags/policy-flags.ts';
import { auditFlow } from '../cli/token-audit/audit-flow.ts';
import { policySchema } from '../config/policy.ts';
import type { Baseline } from '../domain/policy/judge.ts';
import { ruleNames } from '../domain/policy/policy.ts';
import { patternOf } from '../domain/selector.ts';
import { auditTokens } from '../operations/token-audit/audit-tokens.ts';
import { baselineHeading, parseBaseline } from '../reports/report-file.ts';
import { noScreen } from '../reports/tables/text.ts';
import type { Audits } from './audits.ts';
import { auditsTogether } from './audits-together.ts';
import type { Fleet } from './overview.ts';
import type { Places } from './places.ts';

/** The maximum baseline in a request: some 300,000 findings. */
const MAX_BASELINE = 8 * 1024 * 1024;

/** The command's reports, and the baseline that it writes. */
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

/** Serves audits, their reports, and proposed exceptions. */
export function serveAudits(
  app: FastifyInstance,
  { places, audits, fleet, version }: { places: Places; audits: Audits; fleet: Fleet; version: string },
): void {
  const reads = { config: { readsOnly: true }, bodyLimit: 2 * MAX_BASELINE } as const;
  app.get('/api/audit', async ({ query }) => {
    const { place: only } = z.object({ place: place.optional() }).parse(query);
    return await fleet.audits(only);
  });
  app.post('/api/audit/comparison', reads, async ({ body }) => {
    const given = z.strictObject({ place, baseline: baselineText }).parse(body);
    const read = await audits.compare(given.place, await baselineOf(given.baseline));
    return { ...auditsTogether([{ place: given.place, read }]), readings: [] };
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
  reason: z.string().trim().min(1, 'explain the exception').max(1000),
});

/** An exception in the form of the configuration: names match exactly. */
function exceptionText({ rule, user, application, until, reason }: z.infer<typeof exceptionQuery>): string {
  const exception = {
    ...(user !== undefined && { user: patternOf(user) }),
    ...(application !== undefined && { application: patternOf(application) }),
    ...(until !== undefined && { until }),
    reason,
  };
  const policy = policySchema.parse({ [rule]: { exceptions: [exception] } });
  return stringify({ policy }, { defaultStringType: 'PLAIN', version: '1.1' });
}
