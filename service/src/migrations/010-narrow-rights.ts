import type { Migration } from '@tokenctl/common/db/migrate.ts';

/**
 * Prevents a right from leading to a higher one: the first token family whose consent still counts for an
 * application, and a form of user names to refuse look-alikes. Letters of other scripts that look like a
 * Latin letter count as that letter.
 */
export const narrowRights: Migration = {
  number: 10,
  name: 'narrow rights',
  sql: `
ALTER TABLE main_oauth2application ADD COLUMN consents_from bigint NOT NULL DEFAULT 0;
UPDATE main_oauth2application SET skip_authorization = false WHERE client_type = 'public';

CREATE FUNCTION service_lookalike(name text) RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT pg_catalog.translate(
    pg_catalog.lower(pg_catalog.btrim(
      CASE WHEN pg_catalog.current_setting('server_encoding') = 'UTF8'
        THEN pg_catalog.normalize(name, 'NFKC') ELSE name END,
      '.+-_@')),
    'ıɡаеорсухіјѕԁһԛԝӏѵοανριυ', 'igaeopcyxijsdhqwlvoavpiu')
$$;
CREATE INDEX auth_user_lookalike ON auth_user (service_lookalike(username));
`,
};
