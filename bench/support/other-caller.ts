import { type Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Flood, Flooded } from './flood.ts';
import { api } from './requests.ts';

const PAUSE_MS = 10;
const worker = new Worker(new URL('./flood.ts', import.meta.url));

/** Ends the thread that sends floods. */
export function stopFlood(): Promise<number> {
  return worker.terminate();
}

/** Sends requests from another thread, for as long as they say. */
export function send(flood: Flood): Promise<Flooded> {
  return new Promise((resolve) => {
    worker.once('message', resolve);
    worker.postMessage(flood);
  });
}

/** A token of a new superuser, who sees everything. */
export async function tokenOf(
  url: string,
  username: string,
  scope: 'read' | 'write' = 'read',
): Promise<string> {
  const { id } = await api<{ id: number }>(url, '/api/v2/users/', {
    username,
    password: username,
    is_superuser: true,
  });
  const own = await fetch(`${url}/api/v2/users/${id}/personal_tokens/`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${username}:${username}`).toString('base64')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ scope }),
  });
  const { token } = (await own.json()) as { token: string };
  return token;
}

/** Someone who reads `/api/v2/me/` again and again. */
export interface Reader {
  readonly url: string;
  readonly token: string;
  readonly agent: Agent;
}

/** The 99th percentile of the other user's requests until then, in milliseconds. */
export async function p99OfOther(reader: Reader, until: number): Promise<number> {
  const times: number[] = [];
  while (performance.now() < until) {
    const begun = performance.now();
    const status = await me(reader);
    if (status !== 200) throw new Error(`the other user got ${status}`);
    times.push(performance.now() - begun);
    await sleep(PAUSE_MS);
  }
  times.sort((one, another) => one - another);
  return times[Math.floor((times.length - 1) * 0.99)] ?? Number.NaN;
}

function me({ url, token, agent }: Reader): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/api/v2/me/`, { agent, headers: { authorization: `Bearer ${token}` } });
    sent.on('response', (answer) => answer.resume().on('end', () => resolve(answer.statusCode)));
    sent.on('error', reject).end();
  });
}
