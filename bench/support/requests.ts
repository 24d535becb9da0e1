import { type ChildProcess, fork } from 'node:child_process';
import { Worker } from 'node:worker_threads';
import type { Load } from './load.ts';

const BASIC = `Basic ${Buffer.from('admin:bench').toString('base64')}`;

/** Starts a file of this folder as a process of its own, which sends its base URL when it listens. */
export async function start(
  file: string,
  environment: Record<string, string>,
): Promise<{ url: string; child: ChildProcess }> {
  const child = fork(new URL(`./${file}`, import.meta.url), {
    env: { ...process.env, ...environment },
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('message', (message) => resolve(String(message)));
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)));
  });
  return { url, child };
}

const worker = new Worker(new URL('./load.ts', import.meta.url));

/** Ends the thread that sends. */
export function stopLoad(): Promise<number> {
  return worker.terminate();
}

/** Sends requests from another thread. Returns milliseconds. */
export async function load(what: Load): Promise<number> {
  const answer = await new Promise<number | string>((resolve) => {
    worker.once('message', resolve);
    worker.postMessage(what);
  });
  if (typeof answer === 'string') throw new Error(answer);
  return answer;
}

/** The text of a GET request; `headers` in lines that end with CR LF. */
export function get(path: string, headers: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;
}

/** The text of a POST request with a form. */
export function form(path: string, fields: Record<string, string>): string {
  const body = new URLSearchParams(fields).toString();
  return (
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  );
}

/** A request of the superuser's to the API, by fetch. Returns the parsed body. */
export async function api<T>(base: string, path: string, json?: object): Promise<T> {
  const response = await fetch(base + path, {
    method: json === undefined ? 'GET' : 'POST',
    headers: { authorization: BASIC, 'content-type': 'application/json' },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}
