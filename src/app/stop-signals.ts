/** Signals that ask the program to end: Ctrl-C, an orderly stop, a terminal that was closed. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Keeps signals from ending the program while it changes something. */
export interface SignalTrap {
  /** Aborted by the first signal: what works in batches starts no further one. */
  readonly signal: AbortSignal;
  /** Lets signals end the program again. */
  release(): void;
}

/**
 * From now on a signal does not end the program but asks it to stop. However often it comes, what is in
 * flight is finished and recorded; only SIGKILL ends it at once, and the next run picks up from there.
 * @param awaited What is still awaited, as the object of a sentence; asked at the second signal.
 */
export function catchSignals(
  notify: (line: string) => void,
  awaited: () => string = () => 'in-flight work',
): SignalTrap {
  const controller = new AbortController();
  const stop = () => {
    notify(
      controller.signal.aborted
        ? `Still waiting for ${awaited()}.`
        : 'Stopping: in-flight work is finished and recorded first.',
    );
    controller.abort();
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  return {
    signal: controller.signal,
    release() {
      for (const signal of SIGNALS) process.off(signal, stop);
    },
  };
}
