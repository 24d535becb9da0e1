import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import type { Runtime } from '../../app/runtime.ts';
import { intoSecretFile, requireNewFile } from '../../app/secret-file.ts';
import { absolutePath } from '../../config/paths.ts';
import { readSecret } from '../../config/secrets.ts';
import type { Visibility } from '../../domain/claims.ts';
import { revokeCommands } from '../../domain/remedies.ts';
import {
  type DeletionReport,
  deleteApplication,
  planDeletion,
  replaceSecret,
  secretsKept,
} from '../../operations/applications/change-application.ts';
import {
  type ApplicationName,
  type NamedApplication,
  type ShownApplication,
  showApplication,
} from '../../operations/applications/show-application.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { requireMayChange, requireRights } from '../../operations/scope/visibility.ts';
import { type Document, facts, good, type Line, lines, warning, would } from '../../reports/document.ts';
import { type MaybeMade, type Report, report } from '../../reports/result.ts';
import { countText, numberText, printable, timeText } from '../../reports/tables/text.ts';
import { revocationGuard } from '../change/approval.ts';
import { type ChangeRequest, notMade, type PlannedChange } from '../change/change.ts';
import { runLine, stepAmount, stepLines, unfinishedWork } from '../change/ending.ts';
import { placeText, typedName } from '../change/plan-text.ts';
import type { ChangeFlags } from '../flags/flags.ts';
import { noteLimit } from '../output/streams.ts';

/** An application and its tokens as `--json` shows them. The client secret is not read. */
interface ApplicationFactsJson {
  readonly application: Omit<NamedApplication, 'isOnlyOne'>;
  readonly accessTokens: Omit<ShownApplication['accessTokens'], 'lastUsed'> & {
    /** Null for never, and if the target does not show it. */
    readonly lastUsed: Date | null;
  };
  /** Refresh tokens that are not revoked; null if the target does not list them. */
  readonly refreshTokens: number | null;
}

/** What `applications show` prints with `--json`. */
export interface ShownApplicationJson extends ApplicationFactsJson {
  readonly visibility: Visibility;
}

/** What `applications delete` prints with `--json`. After a dry run, the members of the report are null. */
export interface DeletionJson extends MaybeMade<Omit<DeletionReport, 'application'>> {
  readonly dryRun: boolean;
  readonly plan: ApplicationFactsJson;
}

/** What `applications rotate-secret` prints with `--json`. The tokens are those before the change. */
export interface ReplacedSecretJson extends ApplicationFactsJson {
  readonly dryRun: boolean;
  /** The file with the new secret. */
  readonly output: string;
  readonly replaced: boolean;
}

export async function shownApplicationFlow(
  runtime: Runtime,
  name: ApplicationName,
): Promise<Report<ShownApplicationJson>> {
  const read = await runtime.readTarget();
  const { description } = read;
  const shown = await showApplication({ ...read, name });
  await noteLimit(runtime);
  const { visibility } = description;
  return report({ json: { ...shownJson(shown), visibility }, document: () => shownDocument(shown) });
}

function shownJson({ application, accessTokens, refreshTokens }: ShownApplication): ApplicationFactsJson {
  const { isOnlyOne: _, ...rest } = application;
  return {
    application: rest,
    accessTokens: { ...accessTokens, lastUsed: accessTokens.lastUsed ?? null },
    refreshTokens,
  };
}

function shownDocument({ application, accessTokens, refreshTokens }: ShownApplication): Document {
  const { name, id, clientType, grantType, clientId, organizationId, redirectUris, idTokens } = application;
  const { lastUsed } = accessTokens;
  return [
    facts(
      [
        ['Description', application.description],
        ['Client type', clientType],
        ['Grant type', grantType],
        ['Client id', clientId],
        ['Organization', organizationId === null ? 'none' : `id ${organizationId}`],
        ['Redirect URIs', redirectUris.join(' ')],
        ['Consent', application.skipAuthorization ? 'not asked for' : 'asked for'],
        ['Created', timeText(application.created)],
        ['Access tokens', tokensText(accessTokens)],
        ['Of users', usersText(accessTokens.byUser)],
        ['Last used', lastUsed === undefined ? null : lastUsed === null ? 'never' : timeText(lastUsed)],
        [
          'Refresh tokens',
          refreshTokens === null
            ? 'not listed by this target; use a database context'
            : numberText(refreshTokens),
        ],
        ['Id tokens', idTokens === undefined ? null : numberText(idTokens)],
      ],
      `Application ${name} (ID ${id})`,
    ),
  ];
}

function tokensText({ total, write, expired, withRefreshToken }: ShownApplication['accessTokens']): string {
  const parts = [
    ...(write === 0 ? [] : [`${numberText(write)} with scope write`]),
    ...(expired === 0 ? [] : [`${numberText(expired)} expired`]),
    ...(withRefreshToken === 0 ? [] : [`${numberText(withRefreshToken)} with a refresh token`]),
  ];
  return parts.length === 0 ? numberText(total) : `${numberText(total)} (${parts.join(', ')})`;
}

/** The maximum number of users to name. */
const MAX_NAMED = 8;

function usersText(users: ShownApplication['accessTokens']['byUser']): string {
  const named = users
    .slice(0, MAX_NAMED)
    .map(({ username, tokens }) => `${username === '' ? '(deleted)' : username} ${numberText(tokens)}`);
  const more = users.length - named.length;
  return [...named, ...(more === 0 ? [] : [countText(more, 'more user')])].join(', ');
}

interface Named {
  readonly name: ApplicationName;
}

/**
 * Plans to delete an application with its tokens. An application without tokens may be deleted by one person:
 * its tokens can be revoked before, under a separate plan.
 */
export async function deletionFlow(
  request: ChangeRequest & Named,
): Promise<PlannedChange<DeletionReport, DeletionJson>> {
  const { runtime, name } = request;
  const read = await runtime.readTarget();
  const { description } = read;
  const plan = await planDeletion({ ...read, name });
  const { application, accessTokens, refreshTokens } = plan;
  const tokens = [
    countText(accessTokens.total, 'access token'),
    ...(refreshTokens === null ? [] : [countText(refreshTokens, 'refresh token')]),
    ...(application.idTokens ? [`${countText(application.idTokens, 'stored ID token')}`] : []),
  ].join(' and ');
  const shown = printable.value(application.name);
  return {
    plan: [
      lines(
        would`delete the application ${application.name} (ID ${application.id}) with ${tokens}.`,
        placeText(description),
        accessTokens.byUser.length > 0 && `Users who lose tokens: ${usersText(accessTokens.byUser)}.`,
        application.idTokens
          ? 'Systems that accepted an ID token may keep their own sessions. This command does not end those.'
          : false,
        'This cannot be undone. An application that is created again gets a new client ID and secret.',
      ),
    ],
    question: { act: `delete ${shown}`, type: typedName(application.name, application.id) },
    require: () => requireMayChange(description),
    guard: revocationGuard(accessTokens.total + (refreshTokens ?? 0)),
    act: async (begin) => deleteApplication({ ...(await begin()), plan }),
    ended: ({ result, steps, left, interrupted, stopped, run }) => ({
      document: [
        lines(
          result === 'done' ? `Deleted ${application.name}.` : warning`Partly deleted: ${application.name}.`,
          stepLines(steps),
          leftText(result, left),
          runLine(run),
        ),
      ],
      amount: stepAmount(steps),
      failure: unfinishedWork({
        interrupted,
        stopped,
        left: `${shown} or some of its tokens may remain`,
        open: result === 'partly',
      }),
    }),
    json: ({ dryRun, done }) => {
      const { application: _, ...made } =
        done ?? notMade('application result steps left interrupted stopped run');
      return { dryRun, plan: shownJson(plan), ...made };
    },
  };
}

function leftText(result: DeletionReport['result'], left: DeletionReport['left']): Line {
  if (left === null) return warning`Not verified: the target could not be read.`;
  if (result === 'done') return good`Verified: the application and its tokens are no longer listed.`;
  const tokens = countText(left.accessTokens, 'access token');
  return `Listed again: ${left.application ? 'the application and ' : ''}${tokens}.`;
}

/**
 * Plans to replace a client secret and to write the new one to a new file, and nowhere else.
 * @throws TokenctlError `usage` for the file, `unsupported` for a public client and over REST, `partly_done`
 * if the secret was replaced and its value is lost; and as the operation.
 */
export async function secretFlow(
  request: ChangeRequest<
    ChangeFlags & { readonly output: string; readonly 'secret-key'?: string | undefined }
  > &
    Named,
): Promise<PlannedChange<void, ReplacedSecretJson>> {
  const { runtime, name, flags } = request;
  const output = absolutePath(flags.output, process.cwd(), runtime.environment);
  requireNewFile(output);
  const controllerKey = keyFrom(flags['secret-key'], runtime);
  const read = await runtime.readTarget();
  const { description } = read;
  const shown = await showApplication({ ...read, name });
  const { application } = shown;
  requireReplaceable(shown, description, controllerKey);
  const named = printable.value(application.name);
  return {
    plan: [
      lines(
        would`replace the client secret of ${application.name} (ID ${application.id}) and write the new one to ${output}.`,
        placeText(description),
        'The old secret stops working immediately: clients that use it can neither get nor refresh tokens.',
        tokensLeft(shown, description),
      ),
    ],
    question: {
      act: `replace the client secret of ${named}`,
      type: typedName(application.name, application.id),
    },
    act: async (begin) => {
      const opened = await begin();
      await intoSecretFile(output, {
        make: () => replaceSecret({ ...opened, application, controllerKey }),
        secretOf: (secret) => secret,
        lost: (_secret, cause) =>
          new TokenctlError(
            'partly_done',
            `The client secret of ${application.name} was replaced, but could not be written to ${output}`,
            { hint: 'The new value is lost. Run the command again with another file.', cause },
          ),
      });
    },
    ended: () => ({
      document: [
        lines(
          `Replaced the client secret of ${application.name}. The new secret is in ${output}, which only you can read.`,
          'The new secret was not tested: this context sends no requests.',
          tokensLeft(shown, description),
        ),
      ],
    }),
    json: ({ dryRun }) => ({ dryRun, ...shownJson(shown), output, replaced: !dryRun }),
  };
}

function keyFrom(file: string | undefined, { environment }: Runtime): Secret | undefined {
  if (file === undefined) return undefined;
  return readSecret({ file: absolutePath(file, process.cwd(), environment) }, environment);
}

/** Refuses before the confirmation what the target would refuse. */
function requireReplaceable(
  { application }: ShownApplication,
  description: TargetDescription,
  controllerKey: Secret | undefined,
): void {
  const { credential, dialect } = description;
  if (application.clientType === 'public') {
    throw new TokenctlError('unsupported', `${application.name} is a public client, which has no secret`, {
      hint: `To revoke its tokens: ${revocationOf(application.name, description)}`,
    });
  }
  requireRights(description, { what: 'Replacing a client secret', purposes: ['applications'] });
  if (credential === 'database_role' && dialect === 'controller' && controllerKey === undefined) {
    throw new TokenctlError('configuration', 'A controller encrypts client secrets with its SECRET_KEY', {
      hint: 'Specify the file with --secret-key: /etc/tower/SECRET_KEY on a classic installation, or the Kubernetes secret NAME-secret-key with the operator.',
    });
  }
  if (credential !== 'database_role') throw secretsKept(description);
}

function tokensLeft(
  { application, accessTokens: { total } }: ShownApplication,
  description: TargetDescription,
): string {
  if (total === 0) return 'The application has no access tokens.';
  const left = `${countText(total, 'access token')} of the application ${total === 1 ? 'stays' : 'stay'} valid.`;
  return `${left} To revoke: ${revocationOf(application.name, description)}`;
}

function revocationOf(name: string, { context }: TargetDescription): string {
  return revokeCommands({ kind: 'applications', names: [name] }, context) ?? '';
}
