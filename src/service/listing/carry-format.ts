import { parseTarget } from '../target.ts';

const QUERY = '?format=json';

/**
 * Carries `format=json` of a request into the addresses of its answer (`url` and `related`, of a record or of
 * each in a list), as the controller does: who asks for a format gets it again by following a link.
 */
export function carryFormat(body: unknown, url: string): unknown {
  if (new URLSearchParams(parseTarget(url).query).get('format') !== 'json' || !isRecord(body)) return body;
  const { results } = body;
  return Array.isArray(results) ? { ...body, results: results.map(inRecord) } : inRecord(body);
}

function inRecord(record: unknown): unknown {
  if (!isRecord(record) || typeof record['url'] !== 'string') return record;
  const { related } = record;
  return {
    ...record,
    url: record['url'] + QUERY,
    ...(isRecord(related) && {
      related: Object.fromEntries(Object.entries(related).map(([name, to]) => [name, inAddress(to)])),
    }),
  };
}

function inAddress(to: unknown): unknown {
  return Array.isArray(to) ? to.map((each) => `${each}${QUERY}`) : `${to}${QUERY}`;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
