import type { Migration } from '@tokenctl/common/db/migrate.ts';

/**
 * A refresh token has the scope of its access token, as on the controller. Previously, a refresh that requested less
 * kept the original scope: a token shown with scope `read` could be replaced by one with `read write`.
 */
export const oneScope: Migration = {
  number: 15,
  name: 'one-scope',
  sql: 'ALTER TABLE oauth2_provider_refreshtoken DROP COLUMN scope;',
};
