import type { Migration } from '@tokenctl/common/db/migrate.ts';

/**
 * Sessions started through an identity provider: the provider, its name for the session (for the single
 * logout), and when it requires the session to end, regardless of SESSION_COOKIE_AGE.
 */
export const providerSessions: Migration = {
  number: 6,
  name: 'provider-sessions',
  sql: `
CREATE TABLE service_provider_session (
  session_key varchar(40) PRIMARY KEY REFERENCES django_session (session_key) ON DELETE CASCADE,
  backend varchar(32) NOT NULL,
  details jsonb NOT NULL,
  ends timestamptz
);
`,
};
