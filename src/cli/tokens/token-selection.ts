import type { Runtime } from '../../app/runtime.ts';
import type { Rows } from '../../domain/rows.ts';
import type { Selection, Selector } from '../../domain/selector.ts';
import type { Token } from '../../domain/token.ts';
import { resolveSelection } from '../../operations/scope/resolve-names.ts';
import type { FindingFlags } from './token-flags.ts';

/** A selection of tokens, including findings, at the target of a run. */
interface SelectedTokens {
  readonly selector: Selector;
  /** The tokens; nothing is read before this is called. */
  readonly tokens: () => Rows<Token>;
}

/**
 * Resolves a selection with `--finding` for read-only commands. Throws as {@link resolveSelection}; `usage`
 * for an unknown rule, `configuration` for an invalid policy.
 */
export async function selectTokens(
  runtime: Runtime,
  selection: Selection,
  flags: FindingFlags,
): Promise<SelectedTokens> {
  const target = await runtime.target();
  const { selector } = await resolveSelection(target, selection);
  if (flags.finding === undefined) return { selector, tokens: () => target.tokens(selector) };
  const { policyOf, ruleNamed } = await import('../flags/policy-flags.ts');
  const { findingTokens } = await import('../../operations/token-audit/finding-tokens.ts');
  const rules = [...new Set(flags.finding)].map(ruleNamed);
  const policy = policyOf(runtime, { policy: flags.policy });
  const clock = await runtime.targetClock();
  const openLog = () => runtime.auditLog();
  return { selector, tokens: () => findingTokens({ target, selector, policy, rules, clock, openLog }) };
}

/** The same as a selector, with the ids of the tokens of `--finding`. Throws as {@link selectTokens}. */
export async function selectorWithFindings(
  runtime: Runtime,
  selection: Selection,
  flags: FindingFlags,
): Promise<Selector> {
  const { selector, tokens } = await selectTokens(runtime, selection, flags);
  if (flags.finding === undefined) return selector;
  const ids = await Array.fromAsync(tokens(), ({ id }) => id);
  return ids.length === 0 ? { none: true } : { ids };
}
