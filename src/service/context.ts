import type { FastifyBaseLogger } from 'fastify';
import type { Database } from '../db/database.ts';
import type { CredentialCache } from './auth/credential-cache.ts';

/** What every part of the service works with: made once at the start, never changed. */
export interface ServiceContext {
  readonly database: Database;
  readonly log: FastifyBaseLogger;
  readonly now: () => Date;
  readonly credentials: CredentialCache;
  /** The product version, and the name of this node in the activity stream. */
  readonly version: string;
  readonly node: string;
  readonly sessionCookieName: string;
  /** Whether a reverse proxy in front sets `X-Forwarded-*`, which is believed only then. */
  readonly behindProxy: boolean;
  /** Certificate chain and key in PEM, where the service speaks TLS itself. */
  readonly tls?: { readonly cert: string; readonly key: string };
}
