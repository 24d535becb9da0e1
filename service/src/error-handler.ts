import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { RequestFailure } from './failure.ts';

export type RequestError = FastifyError | RequestFailure | TokenctlError;

/** Renders a request's failure in the controller's body shapes. See {@link failureOf}. */
export function handleError(error: RequestError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, headers, body } = failureOf(error, request);
  reply.headers(headers).code(status);
  if (status !== 401) return reply.send(body);
  // On every 401, for any credential: the controller's challenge is always Bearer.
  reply.header('WWW-Authenticate', 'Bearer realm=api authorization_url=/api/o/authorize/');
  const { detail } = body;
  return reply.send(
    typeof detail === 'string'
      ? { detail: `${detail} To establish a login session, visit /api/login/.` }
      : body,
  );
}

/** Maps an error to the response. An unexpected one is logged with the request's id, which the response contains. */
export function failureOf(error: RequestError, request: FastifyRequest): RequestFailure {
  if (error instanceof RequestFailure) return error;
  const known =
    error instanceof TokenctlError ? null : (frameworkFailure(error, request) ?? sqlFailure(error));
  if (known !== null) return known;
  if (isDiskFull(error)) {
    request.log.error({ err: error }, 'the disk of the database is full');
    return new RequestFailure(507, { detail: 'The database has no disk space left. Nothing was saved.' });
  }
  if (error instanceof TokenctlError && error.code === 'database_unreachable') {
    request.log.error({ err: error }, 'the database is unavailable');
    return new RequestFailure(503, { detail: 'The database is unavailable. Try again later.' });
  }
  request.log.error({ err: error }, 'internal error');
  return new RequestFailure(500, { detail: `A server error has occurred. Its ID is ${request.id}.` });
}

/** SQLSTATE disk_full, from the database itself or as the cause of its unavailability. */
function isDiskFull(error: Error): boolean {
  return [error, error.cause].some((one) => one instanceof Error && 'code' in one && one.code === '53100');
}

function frameworkFailure(error: FastifyError, request: FastifyRequest): RequestFailure | null {
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new RequestFailure(415, {
        detail: `Unsupported media type "${request.headers['content-type'] ?? ''}" in request.`,
      });
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new RequestFailure(413, { detail: 'The request body is too large.' });
    default:
      break;
  }
  if (error instanceof SyntaxError || (error.statusCode ?? 500) < 500) {
    return new RequestFailure(error.statusCode ?? 400, { detail: 'The request could not be parsed.' });
  }
  return null;
}

/** Database errors that the request caused, not the service, by SQLSTATE. */
function sqlFailure(error: FastifyError): RequestFailure | null {
  const state = /^[0-9A-Z]{5}$/.test(error.code ?? '') ? error.code : '';
  // Class 22: a value out of the column's range, or an invalid regular expression.
  if (state.startsWith('22')) {
    return new RequestFailure(400, { detail: 'A value in the request is out of range or malformed.' });
  }
  // A concurrent request inserted the key, deleted the row, or caused a deadlock.
  if (['23503', '23505', '40001', '40P01'].includes(state)) {
    return new RequestFailure(409, {
      detail: 'Another request changed the same object at the same time. Reload it and try again.',
    });
  }
  if (state === '57014') {
    return new RequestFailure(503, { detail: 'The database took too long to process this request.' });
  }
  return null;
}
