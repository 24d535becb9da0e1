/** A request target taken apart. */
export interface Target {
  /** Always a path, beginning with one slash. */
  readonly path: string;
  /** What follows the first question mark, without it; empty where there is none. */
  readonly query: string;
}

/**
 * Takes a request target apart (RFC 9112 §3.2), as the router does: a target in absolute form is reduced to
 * its path, and only the first question mark, or number sign, ends that.
 */
export function parseTarget(url: string): Target {
  const [, path = '', query = ''] = /^(?:https?:\/\/[^/]*)?([^?#]*)[?#]?(.*)$/is.exec(url) ?? [];
  return { path: path.replace(/^\/*/, '/'), query };
}
