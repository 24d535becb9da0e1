import type { Queryable } from '../../db/database.ts';
import { administersOrganization } from '../access.ts';
import { forbidden, invalid } from '../failure.ts';
import type { Field } from '../listing/fields.ts';
import type { ApplicationFacts } from '../store/applications.ts';
import { findOrganization } from '../store/organizations.ts';
import type { UserRecord } from '../store/users.ts';
import { applicationFields } from './application-fields.ts';
import { redirectProblem } from './redirect-uris.ts';
import { booleanField, type Problems, textField } from './text-field.ts';

/** How a body is read into an application. */
export interface Reading {
  readonly caller: UserRecord;
  readonly service: { readonly database: Queryable; readonly allowImplicitGrant?: boolean };
  /** The application as it is; null where it is to be made. */
  readonly before: ApplicationFacts | null;
  /** Whether what is required must be there (POST, PUT). */
  readonly replace: boolean;
}

/**
 * Reads what a body wants an application to be. The grant type is read only where it is made: it stays.
 *
 * @throws RequestFailure 400 by field; 403 for an organization that the caller does not administer.
 */
export async function readApplication(
  body: Readonly<Record<string, unknown>>,
  reading: Reading,
): Promise<ApplicationFacts> {
  const { before, replace } = reading;
  const { fields } = applicationFields(reading.service);
  const problems: Problems = {};
  const text = (name: 'name' | 'description' | 'redirect_uris', fallback: string) =>
    textField(body, name, {
      rule: {
        fallback,
        required: name === 'name' && (replace || body[name] !== undefined),
        ...(name === 'name' && { maxLength: 255 }),
      },
      problems,
    });
  const choice = (name: 'client_type' | 'authorization_grant_type') =>
    choiceField(body, name, { field: fields[name], fallback: replace ? null : before?.[name], problems });
  const wanted = {
    name: text('name', before?.name ?? ''),
    description: text('description', replace ? '' : (before?.description ?? '')),
    client_type: choice('client_type'),
    authorization_grant_type: before?.authorization_grant_type ?? choice('authorization_grant_type'),
    redirect_uris: text('redirect_uris', before?.redirect_uris ?? ''),
    skip_authorization: booleanField(body, 'skip_authorization', {
      fallback: replace ? false : (before?.skip_authorization ?? false),
      problems,
    }),
    organization_id: await readOrganization(body, reading, problems),
  };
  if (Object.keys(problems).length > 0) throw invalid(problems);
  if (!administersOrganization(reading.caller, wanted.organization_id)) throw forbidden();
  const problem = redirectProblem(wanted.redirect_uris, wanted.authorization_grant_type);
  if (problem !== null) throw invalid({ __all__: [problem] });
  return wanted;
}

function choiceField(
  body: Readonly<Record<string, unknown>>,
  name: string,
  {
    field,
    fallback,
    problems,
  }: {
    readonly field: Field | undefined;
    readonly fallback: string | null | undefined;
    readonly problems: Problems;
  },
): string {
  const value = body[name];
  if (value === undefined && typeof fallback === 'string') return fallback;
  if (typeof value === 'string' && field?.choices?.some(([choice]) => choice === value)) return value;
  problems[name] = [
    value === undefined ? 'This field is required.' : `${JSON.stringify(value)} is not a valid choice.`,
  ];
  return '';
}

async function readOrganization(
  body: Readonly<Record<string, unknown>>,
  { caller, service, before, replace }: Reading,
  problems: Problems,
): Promise<number | null> {
  const given = body['organization'];
  const refuse = (message: string) => {
    problems['organization'] = [message];
    return null;
  };
  if (given === undefined) {
    return replace || before === null ? refuse('This field is required.') : before.organization_id;
  }
  if (given === null) return refuse('This field may not be null.');
  const id = typeof given === 'string' && /^\d{1,10}$/.test(given) ? Number(given) : given;
  if (typeof id !== 'number' || !Number.isInteger(id) || id < 1 || id > 2_147_483_647) {
    return refuse('Expected the id of an organization.');
  }
  // Who administers it knows that it exists; to all others, one that does not looks like a foreign one.
  if (caller.is_superuser && (await findOrganization(service.database, id)) === null) {
    return refuse(`There is no organization with the id ${id}.`);
  }
  return id;
}
