import { readFileSync } from 'node:fs';

/** A request as the recordings have it. */
interface Request {
  readonly method: string;
  readonly path: string;
  readonly form?: Readonly<Record<string, string>>;
  readonly [more: string]: unknown;
}

/** What is sent otherwise than it was recorded, because the service refuses what the controller took. */
export interface ChangedRequest {
  /** Sent before it; only their success is checked. */
  readonly before?: readonly Request[];
  /** Replaces these members of the recorded request. */
  readonly request?: Partial<Request>;
  /** The user is asked for consent here, and gives it. */
  readonly consent?: true;
}

interface Exchange {
  readonly id: string;
  readonly flow: string;
  readonly request?: Request;
}

/**
 * A recording with the requests that are sent otherwise. What is expected stays as it was recorded.
 * @param file The recorded exchanges, one a line.
 * @param differences By the id of an exchange.
 */
export function withChangedRequests(
  file: string,
  differences: Readonly<Record<string, ChangedRequest>>,
): string {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((line) => (line.trim() === '' ? [] : changed(line, differences))).join('\n');
}

function changed(line: string, differences: Readonly<Record<string, ChangedRequest>>): readonly string[] {
  const exchange = JSON.parse(line) as Exchange;
  const difference = differences[exchange.id];
  if (exchange.request === undefined || difference === undefined) return [line];
  const { before = [], consent } = difference;
  const request: Request = { ...exchange.request, ...difference.request };
  const support = (name: string, sent: Request, more: object) =>
    JSON.stringify({
      ...{ id: `${exchange.id}-${name}`, flow: exchange.flow, name, support: true },
      ...{ request: sent, ...more },
    });
  const sent = before.map((each, index) =>
    support(`before-${index + 1}`, each, { expect: { status: each.method === 'POST' ? 204 : 200 } }),
  );
  if (consent === undefined) return [...sent, JSON.stringify({ ...exchange, request })];
  const asked = support('consent', request, {
    expect: { status: 200 },
    capture: { form_of_consent: 'input:csrfmiddlewaretoken' },
  });
  return [...sent, asked, JSON.stringify({ ...exchange, request: answerOf(request) })];
}

/** The form of the consent page for a request. */
function answerOf({ path, ...request }: Request): Request {
  const [endpoint = '', query = ''] = path.split('?');
  // Placeholders of the recording are in the values, and stay.
  const form = Object.fromEntries(new URLSearchParams(query.replaceAll('+', '%20')));
  return {
    ...request,
    method: 'POST',
    path: endpoint,
    headers: { Referer: `{{origin}}${endpoint}` },
    form: { ...form, csrfmiddlewaretoken: '{{form_of_consent}}', allow: 'Authorize' },
  };
}
