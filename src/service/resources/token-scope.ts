const WORDS = new Set(['read', 'write']);

/** Why a scope cannot be given to a token, or null: `read`, `write`, or both in either order, once each. */
export function scopeProblem(scope: unknown): string | null {
  if (scope === null) return 'This field may not be null.';
  if (typeof scope !== 'string') return 'Not a valid string.';
  const words = scope.split(' ');
  if (words.some((word) => !WORDS.has(word)) || new Set(words).size !== words.length) {
    return 'Must be a simple space-separated string with allowed scopes read, write.';
  }
  return null;
}
