/**
 * Whether a text is what a pattern means: `*` stands for any characters, `?` for one, everything else for
 * itself. Takes time in proportion to both lengths at most, whatever the pattern.
 */
export function matchesGlob(text: string, pattern: string): boolean {
  let at = 0;
  let inPattern = 0;
  let lastStar = -1;
  let retryAt = 0;
  while (at < text.length) {
    const wanted = pattern[inPattern];
    if (wanted === '*') {
      lastStar = inPattern;
      inPattern += 1;
      retryAt = at;
    } else if (wanted !== undefined && (wanted === '?' || wanted === text[at])) {
      at += 1;
      inPattern += 1;
    } else if (lastStar >= 0) {
      // The last star takes one character more, and what follows it is tried again from there.
      retryAt += 1;
      at = retryAt;
      inPattern = lastStar + 1;
    } else {
      return false;
    }
  }
  while (pattern[inPattern] === '*') inPattern += 1;
  return inPattern === pattern.length;
}

/** Whether a text is what one of several patterns means. */
export function matchesAny(text: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matchesGlob(text, pattern));
}
