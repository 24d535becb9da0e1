import { type FinishingToken, planFinish, type WaitsFor } from '../../operations/migration/plan-finish.ts';
import type { RevocationReport } from '../../operations/revocation/revocation-report.ts';
import { type Document, lines } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { countText } from '../../reports/tables/text.ts';
import type { ChangeRequest, PlannedChange } from '../change/change.ts';
import { type RevocationJson, revocationFlow } from '../revocation/revocation-flow.ts';
import type { MigrationFlags } from './migration-flags.ts';
import { openSides } from './sides.ts';

/** What `tokens migrate --finish` prints with `--json`. */
export interface FinishJson {
  /** The controller's remaining tokens that have a new one. */
  readonly tokens: readonly FinishingToken[];
  /** As `tokens revoke` prints it, for those that can be revoked; null for none. */
  readonly revocation: RevocationJson | null;
}

const QUIET_MS = 14 * 86_400_000;

const WAITS: Readonly<Record<WaitsFor, string>> = {
  new_unused: 'wait until something uses the new token',
  old_used: 'were used recently, or their last use is not known',
  new_gone: 'have a replacement that is not listed, or whose last use is not known',
};

/**
 * Plans to revoke the old tokens that were replaced by new ones, in the controller's context.
 * @throws TokenctlError as {@link openSides}, and as a revocation.
 */
export async function finishFlow(
  request: ChangeRequest<MigrationFlags>,
): Promise<PlannedChange<RevocationReport, FinishJson> | Report<FinishJson>> {
  const { runtime, flags } = request;
  const { from, to, controller, migrated } = await openSides(runtime, flags);
  const quietSince = new Date(from.clock.now().getTime() - (flags.quiet ?? QUIET_MS));
  const tokens = await planFinish({ from, to }, { migrated, quietSince });
  const ids = tokens.filter(({ waitsFor }) => waitsFor === null).map(({ old }) => old);
  const waiting: Document = [
    {
      kind: 'counts',
      title: `Of ${countText(tokens.length, 'token')} that were replaced`,
      counts: [
        [ids.length, 'can be revoked'],
        ...Object.entries(WAITS).flatMap(([state, text]) => {
          const count = tokens.filter(({ waitsFor }) => waitsFor === state).length;
          return count === 0 ? [] : [[count, text] as const];
        }),
      ],
    },
  ];
  if (ids.length === 0) {
    return report({
      json: { tokens, revocation: null },
      document: [...waiting, lines('No token can be revoked yet.')],
    });
  }
  const { reason, ticket } = flags;
  const account = { ...(reason !== undefined && { reason }), ...(ticket !== undefined && { ticket }) };
  const planned = await revocationFlow({
    runtime: controller,
    flags: { ...account, id: ids },
    selection: { ids },
  });
  const { after: _, ...change } = planned;
  return {
    ...change,
    plan: [...waiting, ...change.plan],
    act: (begin, isWhole) => change.act((working = controller) => begin(working), isWhole),
    json: (outcome) => ({ tokens, revocation: change.json(outcome) }),
  };
}
