import { TokenctlError } from '@tokenctl/common/errors.ts';
import { numberText } from '@tokenctl/common/text.ts';
import { z } from 'zod';
import { percent } from '../src/config/value-schemas.ts';
import { pathNames } from '../src/domain/access.ts';
import type { DirectoryAnswer } from '../src/operations/directories/answer-history.ts';
import { defineJob, revocationJobReport, type TargetJobContext } from '../src/operations/jobs/job.ts';

/** Ends the tokens, refresh tokens and sessions of departed users. */
export const offboarding = defineJob({
  name: 'offboarding',
  on: 'target',
  schedule: '15 * * * *',
  dryRun: true,
  parameters: () =>
    z
      .strictObject({
        /** Whether to offboard deactivated users. */
        inactive: z.boolean().default(true),
        /**
         * The source of current users: a directory is queried for each user it does not list; users missing
         * from a list are only named, and stay.
         */
        present: z
          .union([
            z.strictObject({ file: z.string().min(1) }),
            z.strictObject({ command: z.array(z.string().min(1)).min(1) }),
            /** A configured directory says who is disabled or has left. */
            z.strictObject({ directory: z.string().min(1) }),
          ])
          .optional(),
        /** Users to keep, as names or patterns. */
        except: z.array(z.string().min(1)).default([]),
        stopAbovePercent: percent.default(10),
      })
      .refine(
        ({ inactive, present }) => inactive || present !== undefined,
        'must name `inactive` or `present`',
      )
      .prefault({}),
  async run(context, { present: source, ...parameters }) {
    const { unreadSessions } = await import('../src/operations/access/cached-sessions.ts');
    const { reconcile } = await import('../src/operations/journal/reconcile.ts');
    const { historyText, namesFailure } = await import('../src/operations/incident/name-history.ts');
    const { planOffboarding } = await import('../src/operations/incident/plan-offboarding.ts');
    // A killed run may have left an intent without an outcome.
    await reconcile(context);
    const answer = source && 'directory' in source ? await ask(context, source.directory) : null;
    const present =
      source === undefined || 'directory' in source
        ? null
        : await context.files.names(source, context.signal);
    const gone = answer?.gone;
    const { plan, users, tokens, unlisted, names } = await planOffboarding({
      ...context,
      ...parameters,
      present,
      gone,
    });
    const known = historyText(names);
    const counted = {
      ...{ users: users.length, tokens, ...(answer && { directory: summaryOf(answer) }) },
      ...(known.length > 0 && { names: known.slice(0, MAX_NAMED) }),
      ...(present && { notListed: unlisted.length, unlisted: unlisted.slice(0, MAX_NAMED) }),
    };
    const incomplete =
      namesFailure(names, { ...context.description, command: 'users offboard' }) ??
      (users.length === 0 ? undefined : unreadSessions(context.description)) ??
      keptUnlisted(unlisted);
    if (plan === null) {
      if (incomplete !== undefined) throw incomplete;
      return { message: 'No departed user has access', summary: counted };
    }
    const owners = plan.byUser.map(({ name }) => name);
    if (context.dryRun) {
      const summary = {
        ...counted,
        planned: plan.tokenIds.length,
        sessions: plan.sessions?.count ?? 0,
        owners,
      };
      return { message: `Would end the access of ${numberText(users.length)} departed users`, summary };
    }
    const { revokeTokens } = await import('../src/operations/revocation/revoke-tokens.ts');
    const report = revocationJobReport(
      await revokeTokens({ ...context, plan, selector: { users }, reason: 'scheduled offboarding' }),
      counted,
    );
    if (incomplete !== undefined && report.interrupted !== true) {
      const { message, summary: details } = report;
      throw new TokenctlError('partly_done', `${message}. ${incomplete.message}`, {
        hint: incomplete.hint,
        details,
      });
    }
    const left = pathNames(plan.accessPaths);
    const text = [
      `Departed or deactivated users: ${users.length}. Users with tokens: ${owners.join(', ') || 'none'}.`,
      ...(left === '' ? [] : [`Not ended by this job: ${left}.`]),
      ...known.slice(0, MAX_NAMED),
      ...(answer === null ? [] : linesOf(answer)),
    ].join('\n');
    return { ...report, notices: [{ subject: report.message, text, severity: 'info' }] };
  },
});

/** Users missing from a list keep their access. That is not a success: nothing else ends it. */
function keptUnlisted(unlisted: readonly string[]): TokenctlError | undefined {
  if (unlisted.length === 0) return undefined;
  const more = unlisted.length > MAX_NAMED ? ', …' : '';
  return new TokenctlError(
    'partly_done',
    `Not in the user list and not offboarded: ${unlisted.slice(0, MAX_NAMED).join(', ')}${more}`,
    {
      hint:
        'An incomplete list lacks active users, and cannot be queried for individual users. ' +
        'Offboard departed users with `tokenctl users offboard NAME`, or set a directory in `present`.',
      details: { unlisted: unlisted.length },
    },
  );
}

/** Asks a directory, and records its answer with the evidence before anything is done. */
async function ask(context: TargetJobContext, name: string): Promise<DirectoryAnswer> {
  const { recordAnswer } = await import('../src/operations/directories/answer-history.ts');
  const { askDirectory } = await import('../src/operations/directories/ask-directory.ts');
  const directory = await context.services.directory(name);
  const asked = await askDirectory({ ...context, directory, now: () => context.clock.now() });
  await recordAnswer(context, asked);
  return asked.answer;
}

/** The maximum number of users that a run's summary and its notice name. */
const MAX_NAMED = 50;

function summaryOf({ directory, at, listed, disabled, present, gone, doubtful }: DirectoryAnswer) {
  return {
    name: directory,
    at: at.toISOString(),
    listed,
    disabled,
    present,
    gone: gone.length,
    doubtful: doubtful.length,
    evidence: gone.slice(0, MAX_NAMED),
    doubts: doubtful.slice(0, MAX_NAMED),
  };
}

function linesOf({ directory, gone, doubtful }: DirectoryAnswer): readonly string[] {
  return [
    `According to the directory ${directory}:`,
    ...gone.slice(0, MAX_NAMED).map(({ username, basis, evidence }) => `${username}: ${evidence} (${basis})`),
    ...doubtful.slice(0, MAX_NAMED).map(({ username, why }) => `Not acted on: ${username} ${why}`),
  ];
}
