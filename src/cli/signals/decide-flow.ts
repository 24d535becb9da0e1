import { randomUUID } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { subjectText } from '@tokenctl/common/signals/subject-identifier.ts';
import { machineClock } from '../../operations/ports/clock.ts';
import type { Signal, SignalStore } from '../../operations/ports/signals.ts';
import { type Document, facts, lines, would } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import type { ChangeRequest, PlannedChange } from '../change/change.ts';
import { SHOWN_DIGITS, type SignalJson, signalNamed, signalToJson, withQueue } from './signal-view.ts';

/** What `signals release` and `signals dismiss` print with `--json`. */
export interface DecisionJson {
  readonly event: SignalJson;
  /** What was decided; null in a dry run. */
  readonly decision: 'released' | 'dismissed' | null;
  /** The user in the event, if one was given. */
  readonly user: string | null;
}

/** A decision about a held event. */
interface Decision extends ChangeRequest {
  readonly id: string;
  readonly decision: 'released' | 'dismissed';
  /** With `released`: the user in the event. */
  readonly user?: string | undefined;
}

/**
 * Plans to release or dismiss a held event. The decision is in the audit log before it is made.
 * @throws TokenctlError `not_found`, `usage` for an event that is not held, and as the queue; its act
 * `audit_unavailable`, and `busy` if someone else decided
 */
export async function decideFlow(
  decision: Decision,
): Promise<PlannedChange<void, DecisionJson> | Report<DecisionJson>> {
  const { runtime, id, flags } = decision;
  const signal = await withQueue(runtime, (store) => signalNamed(store, id));
  if (signal.state !== 'held')
    throw new TokenctlError('usage', `The event ${id} is not held: ${signal.state}`, {
      hint: signal.reason ?? undefined,
    });
  if (decision.decision === 'released' && signal.subject === null)
    throw new TokenctlError('usage', `The event ${id} is about the stream, not about a user`, {
      hint: 'Dismiss it when the stream is in the state you want: `tokenctl signals status`.',
    });
  const user = decision.user ?? null;
  const plan = planOf(signal, decision);
  const json = (made: DecisionJson['decision']) => ({ event: signalToJson(signal), decision: made, user });
  if (flags['dry-run'] === true) return report({ json: json(null), document: plan });
  const short = signal.id.slice(0, SHOWN_DIGITS);
  const isReleased = decision.decision === 'released';
  return {
    plan,
    isElsewhere: true,
    question: { act: isReleased ? `carry out ${short}` : `dismiss ${short}`, type: short },
    act: () => withQueue(runtime, (store) => decide(store, signal, decision)),
    ended: () => ({
      document: [
        lines(
          isReleased
            ? 'Released. The receiver or the next run of signals-poll processes it. See `tokenctl signals list`.'
            : 'Dismissed. Nothing is done for it.',
        ),
      ],
    }),
    json: () => json(decision.decision),
  };
}

async function decide(store: SignalStore, signal: Signal, request: Decision): Promise<void> {
  const { runtime, decision, flags } = request;
  const user = request.user ?? null;
  const log = await runtime.auditLog();
  const { issuer, jti, transmitter, kinds } = signal;
  await log.append({
    kind: 'note',
    operation: decision === 'released' ? 'signals.release' : 'signals.dismiss',
    run: randomUUID(),
    actor: runtime.operator,
    target: { context: transmitter, address: issuer },
    data: {
      ...{ step: 'operation', signal: jti, kinds },
      ...(user !== null && { user }),
      ...(flags.reason !== undefined && { reason: flags.reason }),
      ...(flags.ticket !== undefined && { ticket: flags.ticket }),
    },
  });
  const { user: name = '', host = '' } = runtime.operator;
  const release = { by: `${name}@${host}`, reason: flags.reason ?? null, user };
  const made = await store[decision === 'released' ? 'release' : 'dismiss'](
    signal.id,
    release,
    machineClock.now(),
  );
  if (!made)
    throw new TokenctlError('busy', `Someone else has decided about ${signal.id.slice(0, SHOWN_DIGITS)}`, {
      hint: 'Check it with `tokenctl signals list`.',
    });
}

function planOf(signal: Signal, { decision, user }: Decision): Document {
  const { action, subject, kinds, transmitter, reason, users } = signal;
  const whom = user ?? (users.length > 0 ? users.join(', ') : 'whoever matches');
  return [
    facts(
      [
        ['event', `${kinds.join(', ')} from ${transmitter}`],
        ['about', subject === null ? 'the stream' : subjectText(subject)],
        ['held because', reason],
        ['action', decision === 'released' && `${action} for ${whom}`],
      ],
      (decision === 'released' ? would`carry out` : would`dismiss`).text,
    ),
  ];
}
