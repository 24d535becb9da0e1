import type { Database } from '@tokenctl/common/db/database.ts';
import type { FastifyBaseLogger } from 'fastify';
import type { CredentialCache } from './auth/secret-hashes.ts';
import type { FairShare } from './limits/fair-share.ts';
import type { HashQueue } from './limits/hash-queue.ts';
import type { PasswordLimits } from './limits/limits.ts';
import type { Lookups } from './lookups.ts';
import type { Metrics } from './metrics.ts';
import type { JobRunner } from './playbooks/job-runner.ts';
import type { SecretBox } from './settings/secrets.ts';
import type { Discoveries } from './sso/provider-client.ts';

/** The dependencies of every part of the service, created at startup and never changed. */
export interface ServiceContext {
  readonly database: Database;
  readonly log: FastifyBaseLogger;
  readonly now: () => Date;
  readonly lookups: Lookups;
  readonly credentials: CredentialCache;
  readonly passwordLimits: PasswordLimits;
  readonly hashes: HashQueue;
  /** Fair shares of the senders: for all requests, for lists, and for lists whose filters cost time for each row. */
  readonly shares: { readonly requests: FairShare; readonly lists: FairShare; readonly scans: FairShare };
  /** The PBKDF2 iterations of new password hashes. */
  readonly passwordIterations: number;
  readonly metrics: Metrics;
  readonly jobs: JobRunner;
  /** The product version, and the name of this node in the activity stream. */
  readonly version: string;
  readonly node: string;
  readonly sessionCookieName: string;
  /** The origin under which browsers reach the service. Without one, the service accepts loopback names only. */
  readonly publicUrl?: string;
  /** Whether to trust `X-Forwarded-*` of a reverse proxy. */
  readonly behindProxy: boolean;
  /** Whether applications may be registered for the implicit grant, which RFC 9700 §2.1.2 advises against. */
  readonly allowImplicitGrant?: boolean;
  /** Whether public clients must use PKCE for an authorization code (RFC 9700 §2.1.1). */
  readonly requirePkce: boolean;
  /** Single sign-on settings from the environment by name. They override the stored ones. */
  readonly fixedSettings: ReadonlyMap<string, unknown>;
  readonly secrets: SecretBox;
  readonly discoveries: Discoveries;
  /** Certificate chain and key in PEM, if the service terminates TLS. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
}
