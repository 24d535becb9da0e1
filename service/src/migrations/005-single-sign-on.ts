import type { Migration } from '@tokenctl/common/db/migrate.ts';

/**
 * For single sign-on, in addition to the controller's tables of linked accounts: logins in progress at an
 * identity provider, used assertions, and when a provider last worked. `state`, `browser`, `digest` and
 * `configuration` contain digests.
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
