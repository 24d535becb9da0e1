import type { Migration } from '@tokenctl/common/db/migrate.ts';

/**
 * Sessions that were started through an identity provider: which one, what it calls the session (for the
 * single logout), and when the session must end by its word, whatever SESSION_COOKIE_AGE says.
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
