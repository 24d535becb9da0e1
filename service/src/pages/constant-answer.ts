import { createHash } from 'node:crypto';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { acceptsEncoding } from '@tokenctl/common/network/built-files.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';

export interface ConstantAnswer {
  readonly type: string;
  /** A weak validator (RFC 9110 section 8.8.3), the same for all encodings. */
  readonly etag: string;
  readonly bodies: ReadonlyMap<'br' | 'gzip' | 'identity', Buffer>;
}

/** Below this size, in bytes, compression saves no packet. */
const MIN_COMPRESSED = 1_000;

/** Prepares an answer that is the same for everyone, and compresses it once. */
export function constantAnswer(type: string, text: string): ConstantAnswer {
  const body = Buffer.from(text);
  const etag = `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  const isSmall = body.length < MIN_COMPRESSED;
  return {
    type,
    etag,
    bodies: new Map([
      ...(isSmall
        ? []
        : ([['br', brotliCompressSync(body)] as const, ['gzip', gzipSync(body)] as const] as const)),
      ['identity', body] as const,
    ]),
  };
}

/** Sends it in an encoding that the client accepts, or 304 if the client has it already. */
export function sendConstant(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, etag, bodies }: ConstantAnswer,
): FastifyReply {
  reply.header('ETag', etag).header('Vary', 'Accept-Encoding');
  if (isSafeRead(request) && matches(request, etag)) return reply.code(304).send();
  for (const [encoding, body] of bodies) {
    if (encoding === 'identity') return reply.type(type).send(body);
    if (acceptsEncoding(request.headers['accept-encoding'], encoding))
      return reply.type(type).header('Content-Encoding', encoding).send(body);
  }
  throw new Error('every answer has a form without an encoding');
}

function isSafeRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Whether `If-None-Match` contains the validator (RFC 9110 section 13.1.2). */
function matches({ headers }: FastifyRequest, etag: string): boolean {
  const weak = (text: string) => text.trim().replace(/^W\//, '');
  const given = String(headers['if-none-match'] ?? '').split(',');
  return given.some((each) => each.trim() === '*' || weak(each) === weak(etag));
}
