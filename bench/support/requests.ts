import { type ChildProcess, fork } from 'node:child_process';

const BASIC = `Basic ${Buffer.from('admin:bench').toString('base64')}`;

/** Starts a file of this folder as a process of its own, which sends its base URL when it listens. */
export async function start(
  file: string,
  environment: Record<string, string>,
): Promise<{ url: string; child: ChildProcess }> {
  const child = fork(new URL(`./${file}`, import.meta.url), { env: { ...process.env, ...environment } });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('message', (message) => resolve(String(message)));
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)));
  });
  return { url, child };
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
