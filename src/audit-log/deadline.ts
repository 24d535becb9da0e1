/**
 * Waits for work no longer than it may take. The work itself is not stopped.
 *
 * @param limit Milliseconds.
 * @param late What is thrown then.
 */
export async function within<T>(
  work: Promise<T>,
  { limit, late }: { readonly limit: number; readonly late: () => Error },
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), limit);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
