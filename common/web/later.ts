import { useEffect, useState } from 'react';

/** How long after the page was shown its other parts are loaded, in milliseconds. */
const LATER_MS = 1_000;

/**
 * A part of the page that the first view does not need: loaded a second after the page was shown, or once it
 * is wanted. Null until it is loaded, and if it cannot be.
 * @param load Imports the part's file. Pass the same function each time.
 */
export function useLater<T extends object>(load: () => Promise<T>, isWanted: boolean): T | null {
  const [part, setPart] = useState<T | null>(null);
  const isMissing = part === null;
  useEffect(() => {
    if (!isMissing) return;
    let isCurrent = true;
    const begin = () => {
      load().then(
        (loaded) => isCurrent && setPart(loaded),
        // Retried once it is wanted.
        () => undefined,
      );
    };
    const timer = setTimeout(begin, isWanted ? 0 : LATER_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [load, isWanted, isMissing]);
  return part;
}
