/**
 * A route as its pattern says it, `/api/v2/tokens/{id}/`: never the path of a request, which would make a
 * label or an address of each id. `none` where no route matched.
 */
export function routePattern(url: string | undefined): string {
  return url?.replace(/:(\w+)(\(\^[^)]*\))?/g, '{$1}') ?? 'none';
}
