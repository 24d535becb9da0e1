import type { Migration } from '@tokenctl/common/db/migrate.ts';

/**
 * Events of identity providers about their users. `service_provider_event` has digests of the issuers and ids
 * of handled events, so that each is handled once. `service_provider_ending` has accounts and sessions that a
 * provider ended recently: a login in progress must not complete then. `subject` is a digest.
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
