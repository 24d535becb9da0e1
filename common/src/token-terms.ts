/** Whether a token's scope allows changes. `write` includes `read` (the controller's scopes). */
export function allowsWriting(token: { readonly scope: string }): boolean {
  return token.scope.split(/\s+/).includes('write');
}

/** A hundred years. A token that is valid for longer practically never expires. */
export const NEVER_DAYS = 36_525;
