import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { policyFile } from '../../config/configuration.ts';
import { policyFrom } from '../../config/policy.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import { type Policy, type RuleName, ruleNames, rules } from '../../domain/policy/policy.ts';
import type { RuleHelp, Severity } from '../../domain/policy/rule.ts';
import { type Report, report } from '../../reports/result.ts';
import { wrapped } from '../../reports/tables/text.ts';

/** The policy of a run: from `--policy` or else the configuration, and the flags. Throws `configuration`. */
export function policyOf(
  runtime: Runtime,
  flags: {
    readonly policy?: string | undefined;
    readonly 'max-lifetime'?: number | undefined;
    readonly 'unused-for'?: number | undefined;
  },
): Policy {
  const configured =
    flags.policy === undefined ? runtime.configuration.policy : policyFile(flags.policy, runtime.environment);
  return policyFrom(configured, { maxLifetime: flags['max-lifetime'], unusedFor: flags['unused-for'] });
}

const WIDEST = 100;

/** The rule with this name. Throws `usage` for an unknown name, with the nearest known one. */
export function ruleNamed(name: string): RuleName {
  const rule = ruleNames.find((known) => known === name);
  if (rule !== undefined) return rule;
  const near = nearestName(name, ruleNames);
  throw new TokenctlError(
    'usage',
    `No rule named "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`,
    { hint: `Use one of these rules: ${ruleNames.join(', ')}.` },
  );
}

/** What `tokens audit --explain` prints with `--json`. */
export interface ExplanationJson extends Pick<RuleHelp, 'finds' | 'matters' | 'remedy' | 'reference'> {
  readonly rule: RuleName;
  readonly enabled: boolean;
  readonly severity: Severity;
  readonly parameters: readonly {
    readonly name: string;
    readonly meaning: string;
    /** The configured value. */
    readonly value: unknown;
  }[];
  readonly exceptions: readonly object[];
}

/** The explanation of a rule, as a command's result: what, why, configured parameters, remedy, reference. */
export function explanationResult(rule: RuleName, policy: Policy): Report<ExplanationJson> {
  const help: RuleHelp = rules[rule].help;
  const { enabled, severity, exceptions, ...values } = policy[rule];
  const parameters = Object.entries(help.parameters ?? {}).map(([name, meaning]) => ({
    name,
    meaning,
    value: Object.entries(values).find(([key]) => key === name)?.[1] ?? null,
  }));
  const { finds, matters, remedy, reference } = help;
  return report({
    json: { rule, enabled, severity, finds, matters, parameters, exceptions, remedy, reference },
    text: ({ width }) => {
      const most = Math.min(width, WIDEST);
      const blocks = [
        ['What it finds', finds],
        ['Why it matters', matters],
        ['What to do', remedy],
        ['Reference', reference],
        ...parameters.map(({ name, meaning, value }) => [
          `Parameter ${name}`,
          `${meaning} Now ${JSON.stringify(value)}.`,
        ]),
        ...(exceptions.length === 0 ? [] : [['Exceptions', `${exceptions.length} in the policy.`]]),
      ];
      const state = enabled ? `severity ${severity}` : `severity ${severity}, turned off`;
      const lines = blocks.flatMap(([heading = '', text = '']) => [
        '',
        heading,
        ...wrapped(text, most - 2).map((part) => `  ${part}`),
      ]);
      return `${[`${rule} (${state})`, ...lines].join('\n')}\n`;
    },
  });
}
