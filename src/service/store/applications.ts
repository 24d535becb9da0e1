/** An OAuth2 application with its organization's name. The client secret is not among it. */
export interface ApplicationRecord {
  readonly id: number;
  readonly created: Date;
  readonly modified: Date;
  readonly name: string;
  readonly description: string;
  readonly client_id: string;
  readonly client_type: string;
  readonly redirect_uris: string;
  readonly authorization_grant_type: string;
  readonly skip_authorization: boolean;
  readonly organization_id: number | null;
  readonly organization_name: string | null;
}

/** Rows `a` of main_oauth2application with their organization `o`. */
export const APPLICATION_FROM = `main_oauth2application a
  LEFT JOIN main_organization o ON o.id = a.organization_id`;

/** The columns of an {@link ApplicationRecord} over {@link APPLICATION_FROM}. */
export const APPLICATION_COLUMNS = `
  a.id, a.created, a.updated AS modified, a.name, a.description, a.client_id, a.client_type, a.redirect_uris,
  a.authorization_grant_type, a.skip_authorization, a.organization_id, o.name AS organization_name`;
