import type { Runtime } from '../../app/runtime.ts';
import { requireNewFile, reserveSecretFile } from '../../app/secret-file.ts';
import { absolutePath } from '../../config/paths.ts';
import { readSecret } from '../../config/secrets.ts';
import type { Visibility } from '../../domain/claims.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { revokeCommands } from '../../domain/remedies.ts';
import type { Secret } from '../../domain/secret.ts';
import {
  type DeletionReport,
  deleteApplication,
  planDeletion,
  replaceSecret,
} from '../../operations/applications/change-application.ts';
import {
  type ApplicationName,
  type NamedApplication,
  type ShownApplication,
  showApplication,
} from '../../operations/applications/show-application.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { refusalAhead, requireMayChange, requireRights } from '../../operations/visibility.ts';
import { type MaybeMade, type NotMade, type Report, report } from '../../reports/tables/result.ts';
import { countText, numberText, printable, timeText } from '../../reports/tables/text.ts';
import type { Confirmation } from '../confirmation.ts';
import { unfinishedWork } from '../errors/failure.ts';
import type { ChangeFlags } from '../flags.ts';
import { stepAmount, stepLines } from '../incident/incident-text.ts';
import { noteLimit } from '../output/streams.ts';
import { approvalFor, approvalRefusal, type PlanFlags, revocationGuard } from '../revocation/plan-file.ts';

/** An application and its tokens as `--json` shows them. The client secret is not read. */
interface ApplicationFactsJson {
  readonly application: Omit<NamedApplication, 'isOnlyOne'>;
  readonly accessTokens: Omit<ShownApplication['accessTokens'], 'lastUsed'> & {
    /** Null for never, and where the target does not tell. */
    readonly lastUsed: Date | null;
  };
  /** Refresh tokens that are not revoked; null where the target does not list them. */
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
  /** The file of the new secret. */
  readonly output: string;
  readonly replaced: boolean;
}

/** Shows an application. Throws as the operation does. */
export async function shownApplicationFlow(
  runtime: Runtime,
  name: ApplicationName,
): Promise<Report<ShownApplicationJson>> {
  const description = await runtime.description();
  const target = await runtime.target();
  const shown = await showApplication({ target, description, clock: runtime.clock, name });
  await noteLimit(runtime);
  const { visibility } = description;
  return report({ json: { ...shownJson(shown), visibility }, text: () => shownText(shown) });
}

function shownJson({ application, accessTokens, refreshTokens }: ShownApplication): ApplicationFactsJson {
  const { isOnlyOne: _, ...rest } = application;
  return {
    application: rest,
    accessTokens: { ...accessTokens, lastUsed: accessTokens.lastUsed ?? null },
    refreshTokens,
  };
}

function shownText({ application, accessTokens, refreshTokens }: ShownApplication): string {
  const { name, id, clientType, grantType, clientId, organizationId, redirectUris } = application;
  const facts: readonly (readonly [string, string])[] = [
    ...(application.description === '' ? [] : [['Description', application.description] as const]),
    ['Client type', clientType],
    ['Grant type', grantType],
    ['Client id', clientId],
    ['Organization', organizationId === null ? 'none' : `id ${organizationId}`],
    ...(redirectUris.length === 0 ? [] : [['Redirect URIs', redirectUris.join(' ')] as const]),
    ['Consent', application.skipAuthorization ? 'not asked for' : 'asked for'],
    ['Created', timeText(application.created)],
    ['Access tokens', tokensText(accessTokens)],
    ...(accessTokens.byUser.length === 0 ? [] : [['Of users', usersText(accessTokens.byUser)] as const]),
    ...(accessTokens.lastUsed === undefined
      ? []
      : [['Last used', accessTokens.lastUsed === null ? 'never' : timeText(accessTokens.lastUsed)] as const]),
    [
      'Refresh tokens',
      refreshTokens === null
        ? 'not listed by this target; use a database context'
        : numberText(refreshTokens),
    ],
  ];
  const lines = [
    `Application ${printable.value(name)} (id ${id})`,
    ...facts.map(([label, value]) => `  ${`${label}:`.padEnd(15)} ${printable.value(value)}`),
  ];
  return `${lines.join('\n')}\n`;
}

function tokensText({ total, write, expired, withRefreshToken }: ShownApplication['accessTokens']): string {
  const parts = [
    ...(write === 0 ? [] : [`${numberText(write)} with scope write`]),
    ...(expired === 0 ? [] : [`${numberText(expired)} expired`]),
    ...(withRefreshToken === 0 ? [] : [`${numberText(withRefreshToken)} with a refresh token`]),
  ];
  return parts.length === 0 ? numberText(total) : `${numberText(total)} (${parts.join(', ')})`;
}

/** How many users are named. */
const MAX_NAMED = 8;

function usersText(users: ShownApplication['accessTokens']['byUser']): string {
  const named = users
    .slice(0, MAX_NAMED)
    .map(({ username, tokens }) => `${username === '' ? '(deleted)' : username} ${numberText(tokens)}`);
  const more = users.length - named.length;
  return [...named, ...(more === 0 ? [] : [countText(more, 'more user')])].join(', ');
}

/** What is to be done to which application. */
export interface ApplicationRequest {
  readonly runtime: Runtime;
  readonly confirmation: Confirmation;
  readonly name: ApplicationName;
  readonly flags: ChangeFlags;
}

const NOT_DELETED: NotMade<Omit<DeletionReport, 'application'>> = {
  result: null,
  steps: null,
  left: null,
  interrupted: null,
  stopped: null,
  run: null,
};

/**
 * Plans, confirms, deletes an application with its tokens, and reports.
 *
 * @throws TokenctlError `not_confirmed`, `not_approved`, and as the operation.
 */
export async function deletionFlow(
  request: ApplicationRequest & { readonly flags: PlanFlags },
): Promise<Report<DeletionJson>> {
  const { runtime, confirmation, name, flags } = request;
  const description = await runtime.description();
  const target = await runtime.target();
  const plan = await planDeletion({ target, description, clock: runtime.clock, name });
  const text = deletionText(plan, description);
  const tokens = plan.accessTokens.total + (plan.refreshTokens ?? 0);
  // Without tokens, which can be revoked under a plan of their own, one person may delete it.
  const approve = () => approvalFor({ runtime, flags, ...revocationGuard(tokens) });
  if (flags['dry-run'] === true) {
    return report({
      json: { dryRun: true, plan: shownJson(plan), ...NOT_DELETED },
      text: () => `${text}\nDry run. Nothing was changed.\n`,
      failure: refusalAhead(() => requireMayChange(description)) ?? (await approvalRefusal(approve)),
    });
  }
  requireMayChange(description);
  const approval = await approve();
  const shown = printable.value(plan.application.name);
  await confirmation.confirm({
    plan: text,
    act: `delete ${shown}`,
    type: shown === plan.application.name.trim() ? shown : String(plan.application.id),
  });
  const change = await runtime.change({ ...flags, approval });
  const progress = runtime.progress('Revoking');
  const done = await deleteApplication({ ...change, plan, onProgress: progress.step }).finally(progress.end);
  const { interrupted, stopped, result } = done;
  const { application: _, ...made } = done;
  return report({
    json: { dryRun: false, plan: shownJson(plan), ...made },
    text: () => deletedText(done),
    amount: stepAmount(done.steps),
    failure: unfinishedWork({
      interrupted,
      stopped,
      left: `${shown} or some of its tokens may be left`,
      open: result === 'partly',
    }),
  });
}

function deletionText(plan: ShownApplication, { address, context }: TargetDescription): string {
  const { application, accessTokens, refreshTokens } = plan;
  const tokens = [
    countText(accessTokens.total, 'access token'),
    ...(refreshTokens === null ? [] : [countText(refreshTokens, 'refresh token')]),
  ].join(' and ');
  const lines = [
    `Would delete the application ${printable.value(application.name)} (id ${application.id}) with ${tokens}.`,
    `At ${address} (context ${context}).`,
    ...(accessTokens.byUser.length === 0
      ? []
      : [`Users who lose tokens: ${printable.value(usersText(accessTokens.byUser))}.`]),
    'It cannot be undone: an application that is created again has another client id and secret.',
  ];
  return `${lines.join('\n')}\n`;
}

function deletedText({ application, result, steps, left, run }: DeletionReport): string {
  const name = printable.value(application.name);
  const found =
    left === null
      ? 'Not verified: the target could not be read.'
      : result === 'done'
        ? 'Verified: neither the application nor one of its tokens is listed any more.'
        : `Listed again: ${[...(left.application ? ['the application'] : []), countText(left.accessTokens, 'access token')].join(' and ')}.`;
  const lines = [
    result === 'done' ? `Deleted ${name}.` : `Partly deleted: ${name}.`,
    ...stepLines(steps),
    found,
    `Audit log: run ${run}.`,
  ];
  return `${lines.join('\n')}\n`;
}

/**
 * Confirms, replaces a client secret and writes the new one to a new file, and nowhere else.
 *
 * @throws TokenctlError `usage` for the file, `unsupported` for a public client and over REST, `partly_done` where the secret
 * was replaced and its value is lost; and as the operation.
 */
export async function secretFlow(
  request: ApplicationRequest & {
    readonly flags: { readonly output: string; readonly 'secret-key'?: string | undefined };
  },
): Promise<Report<ReplacedSecretJson>> {
  const { runtime, confirmation, name, flags } = request;
  const output = absolutePath(flags.output, process.cwd(), runtime.environment);
  requireNewFile(output);
  const controllerKey = keyFrom(flags['secret-key'], runtime);
  const description = await runtime.description();
  const target = await runtime.target();
  const shown = await showApplication({ target, description, clock: runtime.clock, name });
  const { application } = shown;
  requireReplaceable(shown, description, controllerKey);
  const named = printable.value(application.name);
  const text = [
    `Would replace the client secret of ${named} (id ${application.id}) and write the new one to ${output}.`,
    `At ${description.address} (context ${description.context}).`,
    'The old secret stops working at once: clients with it can neither get nor refresh tokens.',
    tokensLeft(shown, description),
    '',
  ].join('\n');
  const facts = { ...shownJson(shown), output };
  if (flags['dry-run'] === true) {
    return report({
      json: { dryRun: true, ...facts, replaced: false },
      text: () => `${text}\nDry run. Nothing was changed.\n`,
    });
  }
  await confirmation.confirm({
    plan: text,
    act: `replace the client secret of ${named}`,
    type: named === application.name.trim() ? named : String(application.id),
  });
  const change = await runtime.change(flags);
  const file = reserveSecretFile(output);
  let secret: Secret;
  try {
    secret = await replaceSecret({ ...change, application, controllerKey });
  } catch (error) {
    file.discard();
    throw error;
  }
  try {
    file.fill(secret);
  } catch (cause) {
    throw new TokenctlError(
      'partly_done',
      `The client secret of ${application.name} was replaced, but could not be written to ${output}`,
      { hint: 'The new value is lost. Run the command again with another file.', cause },
    );
  }
  return report({
    json: { dryRun: false, ...facts, replaced: true },
    text: () =>
      [
        `Replaced the client secret of ${named}. The new one is in ${output}, which only you can read.`,
        'It was not tried: this context sends no requests.',
        tokensLeft(shown, description),
        '',
      ].join('\n'),
  });
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
  const { credential, address, dialect } = description;
  if (application.clientType === 'public') {
    throw new TokenctlError('unsupported', `${application.name} is a public client, which has no secret`, {
      hint: `To end its tokens: ${revocationOf(application.name, description)}`,
    });
  }
  requireRights(description, { what: 'Replacing a client secret', purposes: ['applications'] });
  if (credential === 'database_role' && dialect === 'controller' && controllerKey === undefined) {
    throw new TokenctlError('configuration', 'A controller encrypts client secrets with its SECRET_KEY', {
      hint: 'Give the file with it as --secret-key: /etc/tower/SECRET_KEY on a classic installation, the secret NAME-secret-key with the operator.',
    });
  }
  if (credential === 'database_role') return;
  throw new TokenctlError('unsupported', `The REST API at ${address} cannot replace a client secret`, {
    hint: 'Use a database context. Or delete the application with `tokenctl applications delete`, which revokes its tokens, and create it again, which also changes its client id.',
  });
}

function tokensLeft(
  { application, accessTokens: { total } }: ShownApplication,
  description: TargetDescription,
): string {
  if (total === 0) return 'It has no access tokens.';
  const left = `${countText(total, 'access token')} of it ${total === 1 ? 'stays' : 'stay'} valid.`;
  return `${left} To revoke: ${revocationOf(application.name, description)}`;
}

function revocationOf(name: string, { context }: TargetDescription): string {
  return revokeCommands({ kind: 'applications', names: [name] }, context) ?? '';
}
