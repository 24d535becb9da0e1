import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { type SecretStore, sameValue, storeChanged } from '../operations/ports/secret-store.ts';

const MAX_BYTES = 64 * 1024;

/** The two commands of a store, each a program with arguments. They run without a shell. */
export interface CommandStoreOptions {
  /** Receives the value on standard input. */
  readonly write: readonly string[];
  /** Prints the value, or nothing if none is stored. */
  readonly read: readonly string[];
  /** The timeout of each, in seconds. */
  readonly timeout: number;
  /** Contains none of tokenctl's secrets. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A store with two commands, for cloud secret managers and password managers. */
export function commandStore(options: CommandStoreOptions, called: string): SecretStore {
  const { read: reading, write: writing, timeout, environment } = options;
  const name = called;
  const run = (command: readonly string[], input: string, signal?: AbortSignal) =>
    runCommand(command, { name, input, timeout, environment, signal });
  const read = async (signal?: AbortSignal): Promise<Secret | null> => {
    const text = (await run(reading, '', signal)).replace(/\r?\n$/, '');
    return text === '' ? null : new Secret(text);
  };
  return {
    name,
    read,
    async write(value, over, signal) {
      if (!sameValue(await read(signal), over)) throw storeChanged(name);
      await run(writing, value.reveal(), signal);
    },
  };
}

/** Runs a program to its end. Its output is never quoted, because it may contain the value. */
async function runCommand(
  [program = '', ...args]: readonly string[],
  options: {
    readonly name: string;
    readonly input: string;
    readonly timeout: number;
    readonly environment: CommandStoreOptions['environment'];
    readonly signal: AbortSignal | undefined;
  },
): Promise<string> {
  const { name, input, timeout, environment, signal } = options;
  const limit = AbortSignal.timeout(timeout * 1000);
  const stop = signal === undefined ? limit : AbortSignal.any([signal, limit]);
  const child = spawn(program, args, {
    env: environment,
    stdio: ['pipe', 'pipe', 'ignore'],
    signal: stop,
    killSignal: 'SIGKILL',
  });
  // Its end is awaited below, but not beyond the timeout.
  child.on('error', () => undefined);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    if (text.length <= MAX_BYTES) return;
    child.kill('SIGKILL');
    child.stdout.destroy();
  });
  // A program that does not read its input closes it. Its exit code shows the result.
  child.stdin.on('error', () => undefined).end(input);
  try {
    const [code, killed] = (await once(child, 'close', { signal: stop })) as [
      number | null,
      NodeJS.Signals | null,
    ];
    if (code === 0 && text.length <= MAX_BYTES) return text;
    const how =
      text.length > MAX_BYTES
        ? 'printed too much'
        : code === null
          ? `was killed by ${killed}`
          : `ended with ${code}`;
    throw new TokenctlError('target_unreachable', `${name}: ${program} ${how}`, {
      hint: 'Run the command manually. Its output is not shown here because it may contain the value.',
    });
  } catch (cause) {
    if (cause instanceof TokenctlError) throw cause;
    if (signal?.aborted) throw new TokenctlError('interrupted', 'Interrupted', { cause });
    if (limit.aborted)
      throw new TokenctlError('target_unreachable', `${name}: ${program} did not end within ${timeout} s`);
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    throw new TokenctlError('configuration', `${name}: ${program} cannot be run (${code})`, { cause });
  } finally {
    // Its child processes may keep its output open.
    child.stdout.destroy();
  }
}
