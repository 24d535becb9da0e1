import { readFileSync } from 'node:fs';
import { EcsFlat, EcsVersion } from '@elastic/ecs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { ECS_VERSION, ecsFormat } from '../../../../src/audit-log/export/ecs.ts';
import { ocsfFormat } from '../../../../src/audit-log/export/ocsf.ts';
import { jsonLinesFormat } from '../../../../src/audit-log/export/open-sink.ts';
import { cefFormat, syslogFormat } from '../../../../src/audit-log/export/syslog.ts';
import type { LogFormat } from '../../../../src/operations/ports/log-sink.ts';
import { draft } from '../../../support/drafts.ts';
import { HOSTILE, recordsByEntry, richLog } from '../../../support/export-estate.ts';

const version = '1.2.3';

async function records(format: LogFormat): Promise<string[]> {
  await using at = await richLog();
  return (await recordsByEntry(at.log, format)).flatMap((each) => each.records);
}

type Json = Readonly<Record<string, unknown>>;

async function events(format: LogFormat): Promise<Json[]> {
  return (await records(format)).map((text) => JSON.parse(text) as Json);
}

function at(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((inner, key) => (inner as Json | undefined)?.[key], value);
}

const formats = [
  ['ocsf', ocsfFormat({ version })],
  ['ecs', ecsFormat({ version })],
  ['cef', cefFormat({ version, inSyslog: false })],
  ['cef in syslog', cefFormat({ version, inSyslog: true })],
  ['syslog', syslogFormat({ version })],
  ['jsonl', jsonLinesFormat],
] as const;

describe.each(formats)('%s', (_name, format) => {
  test('writes every entry, each record on a line of its own', async () => {
    await using at = await richLog();
    const found = await recordsByEntry(at.log, format);
    expect(found.length).toBeGreaterThan(25);
    for (const { records } of found) {
      expect(records.length).toBeGreaterThan(0);
      for (const record of records) expect(record).not.toMatch(/\p{Cc}/u);
    }
  });

  test('writes the same for the same entry each time', async () => {
    await using at = await richLog();
    expect(await recordsByEntry(at.log, format)).toEqual(await recordsByEntry(at.log, format));
  });
});

describe('OCSF', () => {
  const schema = JSON.parse(
    readFileSync(new URL('../../../support/schemas/ocsf-1.5.0-iam.schema.json', import.meta.url), 'utf8'),
  ) as object;
  const validate = new Ajv2020({ allErrors: true, strict: false }).compile(schema);

  test('every event keeps to the schema', async () => {
    for (const event of await events(ocsfFormat({ version }))) {
      validate(event);
      expect([event, validate.errors]).toEqual([event, null]);
    }
  });

  test('the schema refuses what OCSF does not know', async () => {
    const [event] = await events(ocsfFormat({ version }));
    for (const wrong of [
      { extra: 1 },
      { type_uid: 300401 },
      { time: '2026-11-20' },
      { severity_id: 9 },
      { entity: {} },
      { metadata: { version: '1.5.0', product: { vendor_name: 'x' } } },
    ]) {
      expect(validate({ ...event, ...wrong })).toBe(false);
    }
  });

  test('has the result, owner and actor of each token', async () => {
    const all = await events(ocsfFormat({ version }));
    const deletions = all.filter(
      (each) => each['type_uid'] === 300404 && at(each, 'entity.uid') !== undefined,
    );
    const told = deletions
      .filter((each) => at(each, 'entity.type') === 'access token')
      .map((each) => [at(each, 'entity.uid'), each['status']]);
    expect(told.slice(0, 4)).toEqual([
      ['1', 'Success'],
      ['2', 'Success'],
      ['3', 'Unchanged'],
      ['4', 'Failure'],
    ]);
    // By the reconciliation: one is there, one is gone.
    expect(told).toContainEqual(['999', 'Success']);
    const [first] = deletions;
    expect(first).toMatchObject({
      class_uid: 3004,
      activity_id: 4,
      comment: HOSTILE,
      actor: { user: { name: 'carol', account: { name: 'admin' } } },
      entity: { type_id: 99, user: { name: 'alice' } },
      unmapped: { ticket: 'SEC-7' },
    });
    const failed = deletions.find((each) => each['status_id'] === 2);
    expect(failed).toMatchObject({ severity_id: 3, status_detail: 'as told' });
  });

  test('counts nothing as done that was only intended', async () => {
    const all = await events(ocsfFormat({ version }));
    for (const each of all) {
      if (at(each, 'unmapped.kind') === 'intent')
        expect(each).toMatchObject({ status_id: 99, status: 'Intended' });
    }
  });

  test('has sessions as logoffs, settings as updates, users as disabled', async () => {
    const all = await events(ocsfFormat({ version }));
    const done = all.filter((each) => each['status_id'] === 1);
    expect(
      done.filter((each) => each['type_uid'] === 300202).map((each) => at(each, 'session.uid')),
    ).toContain('dddddddddddd');
    expect(done.find((each) => each['type_uid'] === 300403)).toMatchObject({
      entity: { name: 'AUTH_BASIC_ENABLED', data: { AUTH_BASIC_ENABLED: true } },
      entity_result: { data: { AUTH_BASIC_ENABLED: false } },
    });
    expect(done.find((each) => each['type_uid'] === 300409)).toMatchObject({
      entity: { type_id: 2, type: 'User', name: 'alice', uid: '2' },
    });
    expect(done.find((each) => each['type_uid'] === 300401)).toMatchObject({
      entity: { uid: '100', user: { name: 'alice' } },
    });
  });

  test('gives each event an id of its own', async () => {
    const ids = (await events(ocsfFormat({ version }))).map((each) => at(each, 'metadata.uid'));
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('ECS', () => {
  interface Field {
    readonly type: string;
    readonly normalize?: readonly string[];
    readonly ignore_above?: number;
    readonly object_type?: string;
    readonly allowed_values?: readonly {
      readonly name: string;
      readonly expected_event_types?: readonly string[];
    }[];
  }
  const fields = EcsFlat as unknown as Readonly<Record<string, Field>>;

  /** Every field of an event by its full name, up to where the schema has a field. */
  function* flat(value: unknown, path = ''): Generator<[string, unknown]> {
    if (path in fields || typeof value !== 'object' || value === null || Array.isArray(value)) {
      yield [path, value];
      return;
    }
    for (const [key, inner] of Object.entries(value))
      yield* flat(inner, path === '' ? key : `${path}.${key}`);
  }

  function problemWith(name: string, value: unknown): string | null {
    const field = fields[name];
    if (field === undefined) return 'is no field of the schema';
    if (field.type === 'object') {
      return Object.values(value as Json).every((each) => typeof each === 'string')
        ? null
        : 'holds no keywords';
    }
    const isArray = field.normalize?.includes('array') === true;
    if (isArray !== Array.isArray(value)) return 'should be an array, or should not';
    const values = isArray ? (value as unknown[]) : [value];
    return values.map((each) => wrong(field, each)).find((each) => each !== null) ?? null;
  }

  function wrong(
    { type, ignore_above: longest = Number.POSITIVE_INFINITY, allowed_values: allowed }: Field,
    value: unknown,
  ) {
    if (type === 'long') return Number.isSafeInteger(value) ? null : 'is no whole number';
    if (typeof value !== 'string') return 'is no text';
    if (type === 'date') return Number.isNaN(Date.parse(value)) ? 'is no date' : null;
    if (!['keyword', 'match_only_text', 'wildcard'].includes(type)) return `is a ${type}`;
    if (value.length > longest) return 'is too long';
    return allowed === undefined || allowed.some(({ name }) => name === value) ? null : `may not be ${value}`;
  }

  test('every field is one of the schema, of its type, with an allowed value', async () => {
    expect(ECS_VERSION).toBe(EcsVersion);
    for (const event of await events(ecsFormat({ version }))) {
      const found = [...flat(event)].map(([name, value]) => [name, problemWith(name, value)]);
      expect(found.filter(([, problem]) => problem !== null)).toEqual([]);
      expect(event).toMatchObject({ ecs: { version: ECS_VERSION }, '@timestamp': expect.any(String) });
    }
  });

  test('the check finds what is wrong', () => {
    expect(problemWith('event.kind', 'evnt')).toMatch(/may not be/);
    expect(problemWith('event.category', 'iam')).toMatch(/array/);
    expect(problemWith('event.sequence', '1')).toMatch(/whole number/);
    expect(problemWith('user.nam', 'x')).toMatch(/no field/);
    expect(problemWith('labels', { a: 1 })).toMatch(/keywords/);
  });

  test('categories have the types that they allow', async () => {
    const categories = fields['event.category']?.allowed_values ?? [];
    for (const event of await events(ecsFormat({ version }))) {
      const [category] = at(event, 'event.category') as string[];
      const allowed = categories.find(({ name }) => name === category)?.expected_event_types ?? [];
      for (const type of at(event, 'event.type') as string[]) expect(allowed).toContain(type);
    }
  });

  test('tells who did what to whose token, why, and how it came out', async () => {
    const all = await events(ecsFormat({ version }));
    const deletion = all.find((each) => (at(each, 'event.type') as string[]).includes('deletion'));
    expect(deletion).toMatchObject({
      event: { category: ['iam'], action: 'tokens.revoke', outcome: 'success', reason: HOSTILE },
      user: { name: 'carol', effective: { name: 'admin' }, target: { name: 'alice' } },
      related: { user: ['carol', 'admin', 'alice'] },
      labels: { ticket: 'SEC-7', subject: 'access token', subject_id: '1' },
    });
    const kinds = all.map(
      (each) => `${String(at(each, 'event.category'))} ${String(at(each, 'event.type'))}`,
    );
    expect(kinds).toEqual(expect.arrayContaining(['session end', 'configuration change', 'iam user,change']));
  });
});

describe('CEF', () => {
  /** The format has no escape for control characters other than line breaks. */
  const PRINTABLE = HOSTILE.replaceAll('\u0001', '?').replaceAll('\u001b', '?');

  test('reads back as it was meant, whatever names hold', async () => {
    for (const line of await records(cefFormat({ version, inSyslog: false }))) {
      const [head, severity, extension] = parsed(line);
      expect(head.slice(0, 4)).toEqual(['CEF:0', 'tokenctl', 'tokenctl', version]);
      expect(Number(severity)).toBeLessThanOrEqual(10);
      if (extension.get('suser') === 'carol') expect(extension.get('shost')).toBe(PRINTABLE);
      const mine = extension.get('cs2Label');
      if (mine !== undefined) expect([mine, extension.get('cs2')]).toEqual(['ticket', 'SEC-7']);
      expect(extension.get('cn1Label')).toBe('sequence');
      const reason = extension.get('reason');
      if (reason !== undefined) expect(reason).toBe(PRINTABLE);
    }
  });

  test('a lockdown is critical, and named', async () => {
    await using at = await richLog();
    const data = { step: 'operation' };
    await at.log.append(draft({ kind: 'intent', operation: 'incident.lockdown', data }));
    const [line = ''] =
      (await recordsByEntry(at.log, cefFormat({ version, inSyslog: false }))).at(-1)?.records ?? [];
    const [, severity, extension] = parsed(line);
    expect([severity, extension.get('act'), extension.get('outcome')]).toEqual([
      '9',
      'incident.lockdown',
      'intended',
    ]);
  });

  /** A reader of the format, after ArcSight's description of it. */
  function parsed(line: string): [string[], string, Map<string, string>] {
    const head: string[] = [];
    let rest = line;
    for (let field = 0; field < 7; field += 1) {
      const [whole = '', text = ''] = /^((?:[^\\|]|\\[\\|])*)\|/.exec(rest) ?? [];
      expect(whole).not.toBe('');
      head.push(text.replace(/\\([\\|])/g, '$1'));
      rest = rest.slice(whole.length);
    }
    const extension = new Map<string, string>();
    const pairs = rest.matchAll(/(?:^| )([A-Za-z0-9_]+)=((?:[^\\=]|\\[\\=rn])*)(?= [A-Za-z0-9_]+=|$)/g);
    for (const [, key = '', value = ''] of pairs) {
      extension.set(
        key,
        value.replace(/\\([\\=rn])/g, (_whole, one: string) => ({ r: '\r', n: '\n' })[one] ?? one),
      );
    }
    const severity = head.pop() ?? '';
    return [head, severity, extension];
  }
});

describe('syslog', () => {
  const MESSAGE =
    /^<(\d{1,3})>1 (\S+) ([\x21-\x7e]{1,255}) ([\x21-\x7e]{1,48}) ([\x21-\x7e]{1,128}) ([\x21-\x7e]{1,32}) (-|\[[^\]]*\]) (.*)$/;

  test('keeps to the grammar of RFC 5424, in ASCII', async () => {
    for (const record of await records(syslogFormat({ version }))) {
      const [, priority, time = '', host, program, , type = '', data, message = ''] =
        MESSAGE.exec(record) ?? [];
      expect(Math.floor(Number(priority) / 8)).toBe(13);
      expect(new Date(time).toISOString()).toBe(time);
      expect(host).toMatch(/^(a\|b=c\S*|-|bastion)$/);
      expect([program, data]).toEqual(['tokenctl', '[origin software="tokenctl" swVersion="1.2.3"]']);
      expect(record).not.toMatch(/[^\x20-\x7e]/);
      expect(JSON.parse(message)).toMatchObject({
        operation: type,
        actor: { user: expect.any(String) as string },
      });
    }
  });

  test('fails are warnings, and what is done is a notice', async () => {
    const found = (await records(syslogFormat({ version }))).map((record) => {
      const [, priority, , , , , , , message = ''] = MESSAGE.exec(record) ?? [];
      return [(JSON.parse(message) as Json)['status'], Number(priority) % 8];
    });
    expect(found).toContainEqual(['failed', 4]);
    expect(found).toContainEqual(['done', 5]);
    expect(found).toContainEqual(['unchanged', 6]);
    expect(found).toContainEqual(['noted', 6]);
  });

  test('CEF goes in the same header', async () => {
    for (const record of await records(cefFormat({ version, inSyslog: true }))) {
      expect(record).toMatch(/^<1(08|09|10)>1 \S+ \S+ tokenctl - \S+ - CEF:0\|/);
    }
  });
});

test('lines of the log are those of the log, byte for byte', async () => {
  await using at = await richLog();
  const lines = (await recordsByEntry(at.log, jsonLinesFormat)).flatMap((each) => each.records);
  expect(`${lines.join('\n')}\n`).toBe(readFileSync(at.path, 'utf8'));
});

test('an outcome of thousands of tokens is as many records of bounded size', { tags: ['long'] }, async () => {
  await using at = await richLog();
  const { address } = at.target.self;
  const common = { operation: 'tokens.revoke', run: 'r', actor: {}, target: { address } };
  const ids = Array.from({ length: 5_000 }, (_, index) => index + 1);
  const tokens = [{ user: 'u'.repeat(150), ids }];
  const reason = 'why '.repeat(50_000);
  const opening = await at.log.append({ ...common, kind: 'intent', data: { step: 'operation', reason } });
  const intent = await at.log.append({ ...common, kind: 'intent', data: { step: 'batch', tokens } });
  const outcome = await at.log.append({
    ...common,
    kind: 'outcome',
    closes: intent.seq,
    data: {
      step: 'batch',
      revoked: ids,
      fingerprints: ids.map(() => 'abcdefabcdef'),
      failed: [],
      notTried: [],
    },
  });
  for (const [name, format] of formats.slice(0, 5)) {
    const found = [...format.records(outcome, { intent, opening })];
    expect([name, found.length]).toEqual([name, 5_000]);
    for (const record of found) {
      expect(Buffer.byteLength(record)).toBeLessThan(8_192);
      expect(record).toContain('abcdefabcdef');
    }
    expect([...format.records(intent, { opening })]).toHaveLength(1);
  }
});

test('a batch of authorization codes is told as such, one record for each', async () => {
  await using at = await richLog();
  const { address } = at.target.self;
  const common = { operation: 'tokens.revoke', run: 'r', actor: {}, target: { address } };
  const step = 'authorization_codes';
  const opening = await at.log.append({ ...common, kind: 'intent', data: { step: 'operation' } });
  const intent = await at.log.append({ ...common, kind: 'intent', data: { step, ids: [7, 8] } });
  const outcome = await at.log.append({
    ...common,
    kind: 'outcome',
    closes: intent.seq,
    data: { step, deleted: [7], unchanged: [8], failed: [], notTried: [] },
  });
  for (const [name, format] of formats.slice(0, 5)) {
    const intended = [...format.records(intent, { opening })].join('\n');
    expect([name, intended]).toEqual([name, expect.stringContaining('2 authorization codes')]);
    const found = [...format.records(outcome, { intent, opening })];
    expect([name, found.length]).toEqual([name, 2]);
    expect(found[0]).toContain('Authorization code 7 was deleted');
  }
});
