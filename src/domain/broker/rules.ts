import {
  type ClaimPattern,
  type ClaimPatterns,
  claimOf,
  claimsMatch,
  isAnchored,
  isPlain,
} from './claim-patterns.ts';

/** Who may have which tokens: an identity that its issuer signed, by its claims. */
export interface BrokerRule {
  readonly name: string;
  /** The issuer's name in the configuration. */
  readonly issuer: string;
  readonly claims: ClaimPatterns;
  readonly context: string;
  /** The owner of the tokens; over REST the account of the context, and not given. */
  readonly user?: string | undefined;
  readonly scope: 'read' | 'write';
  /** How long each token lives, in seconds. */
  readonly lifetime: number;
  /** How many of its tokens may live at a time. */
  readonly live: number;
  /** How many it may give within an hour. */
  readonly hourly: number;
}

/** Who asked for a token and got it by which rule, as the audit log keeps it: nothing in it is secret. */
export interface TokenOrigin {
  readonly rule: string;
  readonly issuer: string;
  /** The claims that decided, and those that name the run. */
  readonly claims: Readonly<Record<string, ClaimPattern>>;
}

/** The origin that an entry of the audit log states; undefined where it states none. */
export function originIn(value: unknown): TokenOrigin | undefined {
  const { rule, issuer, claims } = Object(value) as Partial<TokenOrigin>;
  if (typeof rule !== 'string' || typeof issuer !== 'string') return undefined;
  return { rule, issuer, claims: typeof claims === 'object' && claims !== null ? claims : {} };
}

/** The rule that a verified identity fits, or why none gives it a token. */
export type RuleDecision =
  | { readonly rule: BrokerRule; readonly problem: null }
  | {
      readonly rule: null;
      readonly problem: 'no_rule' | 'several_rules' | 'no_context';
      readonly rules: readonly string[];
    };

/**
 * Finds the rule of an identity. Where several fit, none does: which one was meant is for the configuration to say.
 *
 * @param context Where the token is to be accepted; undefined for wherever the one rule says.
 */
export function decideRule(
  rules: readonly BrokerRule[],
  { issuer, claims, context }: { issuer: string; claims: unknown; context: string | undefined },
): RuleDecision {
  const fitting = rules.filter((rule) => rule.issuer === issuer && claimsMatch(rule.claims, claims));
  const meant = context === undefined ? fitting : fitting.filter((rule) => rule.context === context);
  const [rule, ...others] = meant;
  if (rule !== undefined && others.length === 0) return { rule, problem: null };
  const names = (all: readonly BrokerRule[]) => all.map(({ name }) => name);
  if (rule !== undefined) return { rule: null, problem: 'several_rules', rules: names(meant) };
  return { rule: null, problem: fitting.length > 0 ? 'no_context' : 'no_rule', rules: names(fitting) };
}

/** Claims by which a person finds the run again: of GitHub, GitLab, Kubernetes, CircleCI, Bitbucket and Jenkins. */
const RUN_CLAIMS = [
  ...[
    'sub',
    'jti',
    'repository',
    'ref',
    'sha',
    'workflow_ref',
    'event_name',
    'actor',
    'run_id',
    'run_attempt',
  ],
  ...[
    'environment',
    'project_path',
    'pipeline_id',
    'job_id',
    'user_login',
    'pipelineUuid',
    'build_number',
    'job',
  ],
  ...['/kubernetes.io/namespace', '/kubernetes.io/pod/name', '/kubernetes.io/serviceaccount/name'],
];
/** The longest value that is recorded. */
const MAX_RECORDED = 256;

/** The claims of an identity that decide by these rules, and those that name the run, as far as they can be shown. */
export function recordedClaims(claims: unknown, rules: readonly BrokerRule[]): TokenOrigin['claims'] {
  const names = new Set([...rules.flatMap((rule) => Object.keys(rule.claims)), ...RUN_CLAIMS]);
  const found: [string, ClaimPattern][] = [];
  for (const name of names) {
    const value = claimOf(claims, name);
    const isShort = typeof value === 'string' && value.length <= MAX_RECORDED && isPlain(value);
    if (isShort || typeof value === 'boolean' || Number.isSafeInteger(value))
      found.push([name, value as ClaimPattern]);
  }
  return Object.fromEntries(found);
}

/**
 * Issuers that sign identities for everybody, and the claims that say for whom: a rule without one of these would give tokens to whoever
 * has an account there.
 */
const PUBLIC_ISSUERS: Readonly<Record<string, readonly string[]>> = {
  'https://token.actions.githubusercontent.com': [
    ...['sub', 'repository', 'repository_id', 'repository_owner', 'repository_owner_id', 'job_workflow_ref'],
    ...['workflow_ref', 'enterprise_id'],
  ],
  'https://gitlab.com': ['sub', 'project_path', 'project_id', 'namespace_path', 'namespace_id'],
};

/** What is wrong with the claims of a rule for an issuer: whom it would let in besides; null for nothing. */
export function ruleProblem(issuer: string, claims: ClaimPatterns): string | null {
  const deciding = Object.entries(claims).filter(([, pattern]) => isAnchored(pattern));
  if (deciding.length === 0)
    return 'matches whoever the issuer signs for: at least one claim has to begin with exact text up to a / or a :';
  const owners = PUBLIC_ISSUERS[issuer.replace(/\/$/, '')];
  if (
    owners === undefined ||
    deciding.some(([name, pattern]) => owners.includes(name) && isOwned(name, pattern))
  )
    return null;
  return `matches runs of anybody there: name who owns them with one of ${owners.join(', ')}`;
}

/** A subject begins with a word such as `repo:`; whose it is comes after that. */
function isOwned(name: string, pattern: ClaimPattern): boolean {
  if (name !== 'sub' || typeof pattern !== 'string') return true;
  const [, rest] = /^[^:*]*:(.*)$/s.exec(pattern) ?? [];
  return rest !== undefined && isAnchored(rest);
}
