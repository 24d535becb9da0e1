import {
  type ClaimPattern,
  type ClaimPatterns,
  claimOf,
  claimsMatch,
  isAnchored,
  isPlain,
} from './claim-patterns.ts';

/** Which tokens a signed identity may have, by its claims. */
export interface BrokerRule {
  readonly name: string;
  readonly issuer: string;
  readonly claims: ClaimPatterns;
  readonly context: string;
  /** The owner of the tokens; not given over REST, where it is the context's account. */
  readonly user?: string | undefined;
  readonly scope: 'read' | 'write';
  /** The lifetime of each token, in seconds. */
  readonly lifetime: number;
  /** The maximum number of live tokens. */
  readonly live: number;
  /** The maximum number of tokens per hour. */
  readonly hourly: number;
}

/** The origin of a token: the requesting identity and the rule. Stored in the audit log; not secret. */
export interface TokenOrigin {
  readonly rule: string;
  readonly issuer: string;
  /** The claims that matched, and those that identify the run. */
  readonly claims: Readonly<Record<string, ClaimPattern>>;
}

/** The origin in an audit log entry; undefined if there is none. */
export function originIn(value: unknown): TokenOrigin | undefined {
  const { rule, issuer, claims } = Object(value) as Partial<TokenOrigin>;
  if (typeof rule !== 'string' || typeof issuer !== 'string') return undefined;
  return { rule, issuer, claims: typeof claims === 'object' && claims !== null ? claims : {} };
}

/** The rule that a verified identity matches, or why it gets no token. */
export type RuleDecision =
  | { readonly rule: BrokerRule; readonly problem: null }
  | {
      readonly rule: null;
      readonly problem: 'no_rule' | 'several_rules' | 'no_context';
      readonly rules: readonly string[];
    };

/**
 * Finds the rule of an identity. If several match, none applies: the configuration must be unambiguous.
 * @param context Where the token should be accepted; undefined for wherever the only matching rule says.
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

/** Claims that help a person find the run: of GitHub, GitLab, Kubernetes, CircleCI, Bitbucket and Jenkins. */
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
/** The maximum length of a recorded value. */
const MAX_RECORDED = 256;

/** The displayable claims of an identity that these rules use, and those that identify the run. */
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
 * Issuers that sign identities for anyone, and the claims that identify the owner: a rule without one of
 * these would give tokens to everyone with an account there.
 */
const PUBLIC_ISSUERS: Readonly<Record<string, readonly string[]>> = {
  'https://token.actions.githubusercontent.com': [
    ...['sub', 'repository', 'repository_id', 'repository_owner', 'repository_owner_id', 'job_workflow_ref'],
    ...['workflow_ref', 'enterprise_id'],
  ],
  'https://gitlab.com': ['sub', 'project_path', 'project_id', 'namespace_path', 'namespace_id'],
};

/** Why a rule's claims are too broad for an issuer: who else would match; null if they are not. */
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

/** A subject starts with a word such as `repo:`; the owner comes after it. */
function isOwned(name: string, pattern: ClaimPattern): boolean {
  if (name !== 'sub' || typeof pattern !== 'string') return true;
  const [, rest] = /^[^:*]*:(.*)$/s.exec(pattern) ?? [];
  return rest !== undefined && isAnchored(rest);
}
