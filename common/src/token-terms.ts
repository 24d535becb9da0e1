/** Whether a token's scope lets it change anything. `write` includes `read` (controller's scopes). */
export function allowsWriting(token: { readonly scope: string }): boolean {
  return token.scope.split(/\s+/).includes('write');
}

/** A token that is valid for more days than this has no end that matters: a hundred years. */
export const NEVER_DAYS = 36_525;
