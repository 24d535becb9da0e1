/** What is wrong with a request, in the controller's JSON: a `detail`, or messages by field. */
export type FailureBody =
  | { readonly detail: string }
  | Readonly<
      Record<
        string,
        string | readonly string[] | Readonly<Record<string, readonly string[]>> | readonly object[]
      >
    >;

/** An error response. Thrown by handlers, rendered by the error handler. */
export class RequestFailure extends Error {
  override readonly name = 'RequestFailure';
  readonly status: number;
  readonly body: FailureBody;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: FailureBody, headers: Readonly<Record<string, string>> = {}) {
    super(`request answered with ${status}`);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

export function invalid(body: FailureBody): RequestFailure {
  return new RequestFailure(400, body);
}

export function badRequest(detail: string): RequestFailure {
  return new RequestFailure(400, { detail });
}

/** 401. The error handler adds the challenge and the login address. */
export function unauthenticated(): RequestFailure {
  return new RequestFailure(401, { detail: 'Authentication credentials were not provided.' });
}

export function forbidden(detail = 'You do not have permission to perform this action.'): RequestFailure {
  return new RequestFailure(403, { detail });
}

export function notFound(detail = 'Not found.'): RequestFailure {
  return new RequestFailure(404, { detail });
}

/** 429 (RFC 6585 §4) with `Retry-After`. */
export function tooManyRequests(reason: string, seconds: number): RequestFailure {
  const wait = Math.max(1, Math.ceil(seconds));
  const detail = `${reason} Try again in ${wait} second${wait === 1 ? '' : 's'}.`;
  return new RequestFailure(429, { detail }, { 'Retry-After': String(wait) });
}
