import { TokenctlError } from '@tokenctl/common/errors.ts';
import { IdSet } from '../../domain/compact-collections.ts';
import type { Finding } from '../../domain/policy/judge.ts';
import { type Policy, type RuleName, requireEnabled, ruleOf } from '../../domain/policy/policy.ts';
import { hasExpired } from '../../domain/policy/rule.ts';
import { subjectKey } from '../../domain/policy/subject.ts';
import { Rows } from '../../domain/rows.ts';
import type { Token } from '../../domain/token.ts';
import { type AuditTokensOptions, auditTokens, requireChecked } from './audit-tokens.ts';

/** Selects findings among tokens. */
interface FindingTokensOptions
  extends Pick<AuditTokensOptions, 'target' | 'selector' | 'policy' | 'clock' | 'openLog'> {
  /** Selects tokens that any of these rules finds. */
  readonly rules: readonly RuleName[];
}

/**
 * Streams the selected tokens that one of the rules finds, each once, as an audit by the same policy does. A
 * rule about a user, an application, a purpose or a day finds the tokens of that user, application, purpose
 * or day; it checks all tokens of the target, and the selector narrows its findings.
 * @throws TokenctlError `usage` for a rule that is not about access tokens, or that the policy does not
 * enable; `unsupported` if it cannot be checked on this target.
 */
export function findingTokens(options: FindingTokensOptions): Rows<Token> {
  return Rows.from(tokenPages(options));
}

async function* tokenPages(options: FindingTokensOptions): AsyncIterable<readonly Token[]> {
  const { target, selector, rules } = options;
  for (const rule of rules) requireAboutTokens(rule, options.policy);
  const single = rules.filter((rule) => ruleOf(rule).appliesTo === 'tokens');
  const shared = rules.filter((rule) => ruleOf(rule).appliesTo !== 'tokens');
  if (shared.length === 0) {
    yield* foundSingly(options, single);
    return;
  }
  const ids = new IdSet();
  if (single.length > 0)
    for await (const page of foundSingly(options, single)) for (const { id } of page) ids.add(id);
  const subjects = new Set<string>();
  const about = await found({ ...options, selector: { all: true } }, shared);
  for await (const { subject } of about) subjects.add(subjectKey(subject));
  const now = options.clock.now();
  const isFound = (token: Token) =>
    ids.has(token.id) || (!hasExpired(token, now) && keysOf(token).some((key) => subjects.has(key)));
  yield* target
    .tokens(selector)
    .map((page) => page.filter(isFound))
    .pages();
}

/** The tokens that rules about single tokens find. Findings of one token are consecutive. */
async function* foundSingly(options: FindingTokensOptions, rules: readonly RuleName[]) {
  let last = 0;
  const findings = await found(options, rules);
  yield* findings
    .map((page) =>
      page.flatMap(({ subject }) => {
        if (subject.kind !== 'token' || subject.token.id === last) return [];
        last = subject.token.id;
        return [subject.token];
      }),
    )
    .pages();
}

async function found(options: FindingTokensOptions, rules: readonly RuleName[]): Promise<Rows<Finding>> {
  const audit = await auditTokens({ ...options, rules });
  requireChecked(audit);
  return audit.findings;
}

/** The subjects that a token belongs to. */
function keysOf({ user, application, description, expires }: Token): string[] {
  return [
    ...(application === null ? [] : [`application:${application.id}`]),
    subjectKey({ kind: 'day', day: expires.toISOString().slice(0, 10) }),
    ...(user === null
      ? []
      : [
          subjectKey({ kind: 'user', user }),
          subjectKey({ kind: 'purpose', purpose: { user, application, description } }),
        ]),
  ];
}

function requireAboutTokens(rule: RuleName, policy: Policy): void {
  const { appliesTo } = ruleOf(rule);
  if (appliesTo === 'refreshTokens' || appliesTo === 'settings' || appliesTo === 'exceptions') {
    const hint =
      appliesTo === 'refreshTokens'
        ? 'List them with `tokenctl refresh-tokens list --state orphaned`.'
        : `Run \`tokenctl tokens audit --rule ${rule}\`.`;
    throw new TokenctlError('usage', `The rule ${rule} does not apply to access tokens`, { hint });
  }
  requireEnabled(rule, policy);
}
