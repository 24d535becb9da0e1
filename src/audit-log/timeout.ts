/** How long to wait, and what to throw after that. */
export interface TimeoutOptions {
  readonly timeoutMs: number;
  readonly onTimeout: () => Error;
}

/** Waits for work, but no longer than a timeout. The work itself is not stopped. */
export async function withTimeout<T>(work: Promise<T>, { timeoutMs, onTimeout }: TimeoutOptions): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(onTimeout()), timeoutMs);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
