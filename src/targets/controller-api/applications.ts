import { z } from 'zod';
import type { Application } from '../../domain/token.ts';
import type { ApplicationDetails } from '../../operations/ports/target-parts.ts';
import { type Api, id, instant } from './api.ts';
import { onlyAskedFor } from './asked-for.ts';
import { listItems, listOf } from './listing.ts';
import { applicationQueries } from './queries.ts';
import { orNull, parseJson, responseError, unknownFormat } from './responses.ts';

const fields = z.object({
  id,
  name: z.string(),
  client_type: z.enum(['confidential', 'public']),
  authorization_grant_type: z.string(),
  created: instant,
});

function applicationOf(body: z.infer<typeof fields>): Application {
  return {
    id: body.id,
    name: body.name,
    clientType: body.client_type,
    grantType: body.authorization_grant_type,
    created: body.created,
  };
}

const details = fields
  .extend({
    description: z.string().nullish(),
    client_id: z.string(),
    organization: id.nullish(),
    redirect_uris: z.string().nullish(),
    skip_authorization: z.boolean().nullish(),
  })
  .transform(
    (body): ApplicationDetails => ({
      ...applicationOf(body),
      description: body.description ?? '',
      clientId: body.client_id,
      organizationId: body.organization ?? null,
      redirectUris: (body.redirect_uris ?? '').split(/\s+/).filter((uri) => uri !== ''),
      skipAuthorization: body.skip_authorization === true,
    }),
  );

const LISTING = listOf('applications/', 'the list of applications', fields.transform(applicationOf));

/** All applications that the caller may see, or those with these names. */
export async function listApplications(
  api: Api,
  names: readonly string[] | undefined,
): Promise<readonly Application[]> {
  const isAskedFor = ({ name }: Application) => names === undefined || names.includes(name);
  const listed = listItems(api, applicationQueries(names), LISTING).map(
    onlyAskedFor({ from: api, what: LISTING.what, isAskedFor }),
  );
  // A service without applications does not have this list.
  return (await orNull(['not_found'], () => Array.fromAsync(listed))) ?? [];
}

/** One application with its details; null if it does not exist or the caller may not see it. */
export async function readApplication(api: Api, applicationId: number): Promise<ApplicationDetails | null> {
  const what = `application ${applicationId}`;
  const response = await api.send({ method: 'GET', path: `applications/${applicationId}/` });
  if (response.status === 404) return null;
  const found = details.safeParse(parseJson(response, api, what)).data;
  if (found !== undefined) return found;
  throw unknownFormat(`${api.address} sent ${what} in an unknown format`);
}

/** Deletes an application with its tokens [seen on 24.6.1]. Returns whether it existed. */
export async function deleteApplication(api: Api, applicationId: number): Promise<boolean> {
  const response = await api.send({ method: 'DELETE', path: `applications/${applicationId}/` });
  if (response.status === 404) return false;
  if (response.status >= 200 && response.status <= 299) return true;
  throw responseError(response, api, `the deletion of application ${applicationId}`);
}
