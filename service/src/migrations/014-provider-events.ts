import type { Migration } from '@tokenctl/common/db/migrate.ts';

/**
 * What identity providers say of their users. `service_provider_event` has the digests of the issuers and ids of events that
 * were carried out, so that each is carried out once. `service_provider_ending` has the accounts and sessions that a provider
 * ended a short time ago: a login that was under way then must not complete. `subject` is a digest.
 */
export const providerEvents: Migration = {
  number: 14,
  name: 'provider-events',
  sql: `
CREATE TABLE service_provider_event (
  digest varchar(64) PRIMARY KEY,
  expires timestamptz NOT NULL
);
CREATE INDEX ON service_provider_event (expires);

CREATE TABLE service_provider_ending (
  subject varchar(64) PRIMARY KEY,
  at timestamptz NOT NULL,
  expires timestamptz NOT NULL
);
CREATE INDEX ON service_provider_ending (expires);

CREATE INDEX ON service_provider_session (backend, (details->>'sid'));
`,
};
