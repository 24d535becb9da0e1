import { TokenctlError } from '@tokenctl/common/errors.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import { livingOfRule, recordStop, stoppedRules } from '../../operations/broker/stopped-rules.ts';
import { type EndedLease, endLeases, leftLeases } from '../../operations/leases/end-leases.ts';
import { lines, list, would } from '../../reports/document.ts';
import { countText } from '../../reports/tables/text.ts';
import type { ChangeRequest, PlannedChange } from '../change/change.ts';
import { endDueCommand } from '../leases/lease-text.ts';

/** What `broker stop` and `broker resume` print with `--json`. */
export interface RuleStopJson {
  readonly dryRun: boolean;
  readonly rule: string;
  /** Whether the rule is stopped now; in a dry run, whether it was before. */
  readonly stopped: boolean;
  /** The ids of the leases of its live tokens. */
  readonly leases: readonly string[];
  /** The result for each token; null if there was nothing to end, or no attempt was possible. */
  readonly ended: readonly EndedLease[] | null;
}

interface RuleStop extends ChangeRequest {
  readonly rule: string;
  readonly isStopped: boolean;
}

/** What ended, or why no attempt was possible. */
interface Done {
  readonly ended: readonly EndedLease[] | null;
  readonly failure: TokenctlError | undefined;
}

/**
 * Plans to stop a rule of the broker and to end its live tokens; or to resume it. The stop is recorded first:
 * every broker with this audit log obeys it from then on, whether or not the controller is reachable.
 * @throws TokenctlError `configuration`, `not_found`; as the audit log.
 */
export async function ruleStopFlow(request: RuleStop): Promise<PlannedChange<Done, RuleStopJson>> {
  const { runtime, flags, rule, isStopped } = request;
  const { context } = ruleNamed(request);
  const log = await runtime.auditLog();
  const before = (await stoppedRules(log)).has(rule);
  const living = isStopped ? await livingOfRule(log, rule) : [];
  const isNothing = before === isStopped && living.length === 0;
  const json = ({ dryRun, done }: { dryRun: boolean; done: Done | null }): RuleStopJson => ({
    ...{ dryRun, rule, stopped: dryRun ? before : isStopped, leases: living.map(({ id }) => id) },
    ended: done?.ended ?? null,
  });
  const state = isStopped ? 'stopped' : 'not stopped';
  return {
    plan: isNothing
      ? [lines(`The rule ${rule} is ${state} already.`)]
      : [
          isStopped
            ? lines(
                would`stop the rule ${rule}: it gives no tokens until it is resumed.`,
                list(
                  living.map(({ id, token }) => `End ${id}${token === null ? '' : `, token ${token.id}`}.`),
                ),
              )
            : lines(would`let the rule ${rule} give tokens again.`),
        ],
    isElsewhere: true,
    question: isNothing ? null : { act: `${isStopped ? 'stop' : 'resume'} ${rule}`, type: rule },
    async act(begin) {
      const { reason, ticket } = flags;
      const actor = runtime.operator;
      if (before !== isStopped) await recordStop(log, { rule, isStopped, context, actor, reason, ticket });
      if (!isStopped) return { ended: null, failure: undefined };
      const place = runtime.in({ context, progress: runtime.progress });
      try {
        const change = await begin(place);
        // Includes tokens that were being created when it was stopped.
        const now = await livingOfRule(log, rule, change.description);
        const ended = await endLeases({ ...change, reason: reason ?? 'its rule was stopped' }, now);
        return { ended, failure: leftLeases(ended, `Run it again, or: ${endDueCommand(context)}`) };
      } catch (error) {
        if (!(error instanceof TokenctlError)) throw error;
        const message = `The rule ${rule} gives no tokens, and those that live could not be ended: ${error.message}`;
        return { ended: null, failure: new TokenctlError('partly_done', message, { cause: error }) };
      }
    },
    ended: ({ ended, failure }) => ({
      document: [
        lines(
          isStopped
            ? `The rule ${rule} is stopped. To undo that: tokenctl broker resume ${rule}`
            : `The rule ${rule} gives tokens again.`,
          ended !== null && `${countText(ended.filter(({ how }) => how !== null).length, 'token')} ended.`,
        ),
      ],
      failure,
    }),
    json,
  };
}

function ruleNamed({ runtime, rule }: RuleStop) {
  const rules = runtime.configuration.broker?.rules ?? {};
  const found = Object.hasOwn(rules, rule) ? rules[rule] : undefined;
  if (found !== undefined) return found;
  const near = nearestName(rule, Object.keys(rules));
  throw new TokenctlError('not_found', `The configuration has no rule "${rule}" of the broker`, {
    hint:
      near === undefined ? `It has: ${Object.keys(rules).join(', ') || 'none'}.` : `Did you mean "${near}"?`,
  });
}
