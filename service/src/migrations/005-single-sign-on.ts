import type { Migration } from '@tokenctl/common/db/migrate.ts';

/**
 * What single sign-on needs beside the controller's tables of linked accounts: logins that are under way at
 * an identity provider, assertions that were used, and when a provider was last seen to work. `state`,
 * `browser`, `digest` and `configuration` hold digests.
 */
export const singleSignOn: Migration = {
  number: 5,
  name: 'single-sign-on',
  sql: `
CREATE TABLE service_sso_login (
  state varchar(64) PRIMARY KEY,
  browser varchar(64) NOT NULL,
  backend varchar(32) NOT NULL,
  details jsonb NOT NULL,
  started timestamptz NOT NULL,
  expires timestamptz NOT NULL
);
CREATE INDEX ON service_sso_login (expires);

CREATE TABLE service_sso_assertion (
  digest varchar(64) PRIMARY KEY,
  expires timestamptz NOT NULL
);
CREATE INDEX ON service_sso_assertion (expires);

CREATE TABLE service_sso_success (
  backend varchar(32) PRIMARY KEY,
  configuration varchar(64) NOT NULL,
  at timestamptz NOT NULL
);
`,
};
