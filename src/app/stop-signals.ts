/** Signals that ask the program to end: Ctrl-C, an orderly stop, a closed terminal. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Keeps signals from ending the program during a change. */
export interface SignalTrap {
  /** Aborted by the first signal. Work in batches then starts no further one. */
  readonly signal: AbortSignal;
  /** From then on, signals end the program again. */
  release(): void;
}

/**
 * From now on, a signal asks the program to stop instead of ending it. However often it arrives, work in
 * flight is finished and recorded; only SIGKILL ends it at once, and the next run continues from there.
 * @param awaited What is still awaited, as the object of a sentence; called at the second signal.
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
