import type { FastifyBaseLogger } from 'fastify';
import type { Database } from '../db/database.ts';
import type { CredentialCache } from './auth/secret-hashes.ts';
import type { PasswordLimits } from './limits/limits.ts';
import type { Lookups } from './lookups.ts';
import type { Metrics } from './metrics.ts';
import type { JobRunner } from './playbooks/job-runner.ts';
import type { SecretBox } from './settings/secrets.ts';
import type { Discoveries } from './sso/provider-client.ts';

/** What every part of the service works with: made once at the start, never changed. */
export interface ServiceContext {
  readonly database: Database;
  readonly log: FastifyBaseLogger;
  readonly now: () => Date;
  readonly lookups: Lookups;
  readonly credentials: CredentialCache;
  readonly passwordLimits: PasswordLimits;
  readonly metrics: Metrics;
  /** Runs the jobs that are launched at this process. */
  readonly jobs: JobRunner;
  /** The product version, and the name of this node in the activity stream. */
  readonly version: string;
  readonly node: string;
  readonly sessionCookieName: string;
  /** Whether a reverse proxy in front sets `X-Forwarded-*`, which is believed only then. */
  readonly behindProxy: boolean;
  /** Whether applications may be registered for the implicit grant, which RFC 9700 §2.1.2 advises against. */
  readonly allowImplicitGrant?: boolean;
  /** Whether public clients must use PKCE for an authorization code (RFC 9700 §2.1.1). */
  readonly requirePkce: boolean;
  /** Settings of single sign-on that the environment fixes, by name: they go before what is stored. */
  readonly fixedSettings: ReadonlyMap<string, unknown>;
  /** Encrypts the settings that are secret. */
  readonly secrets: SecretBox;
  /** What was discovered about identity providers. */
  readonly discoveries: Discoveries;
  /** Certificate chain and key in PEM, where the service speaks TLS itself. */
  readonly tls?: { readonly cert: string; readonly key: string };
}
