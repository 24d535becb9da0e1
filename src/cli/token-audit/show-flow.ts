import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import type { Visibility } from '../../domain/claims.ts';
import type { AuditSummary, Finding } from '../../domain/policy/judge.ts';
import { mostSevereFirst } from '../../domain/policy/rule.ts';
import { patternOf } from '../../domain/selector.ts';
import type { Token } from '../../domain/token.ts';
import { resolveTokenIds } from '../../operations/scope/resolve-names.ts';
import { auditTokens } from '../../operations/token-audit/audit-tokens.ts';
import { readToken } from '../../operations/token-audit/trace-token.ts';
import { type ListedUser, listUsers } from '../../operations/users/users.ts';
import { type Document, facts, lines, list, warning } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { type TokenJson, tokenToJson } from '../../reports/tables/token-view.ts';
import { policyOf } from '../flags/policy-flags.ts';
import { noteLimit } from '../output/streams.ts';
import { ownerStateText, type UserJson, userToJson } from '../users/user-view.ts';
import { tokenFacts } from './trace-result.ts';

/** What `tokens show` prints with `--json`. */
export interface ShownTokenJson {
  readonly token: TokenJson;
  /** Null if it was deleted, or the account does not see it. */
  readonly owner: UserJson | null;
  /** The policy's findings about the token, most severe first. */
  readonly findings: readonly Pick<Finding, 'rule' | 'severity' | 'message'>[];
  /** Rules that could not be checked. */
  readonly notChecked: AuditSummary['notChecked'];
  readonly visibility: Visibility;
}

/**
 * Shows a token with its owner and the policy's findings about this token only.
 * @throws TokenctlError `not_found` for a token that is not listed, `permission_refused` for an account that
 * does not see everything; and as the policy and the audit do.
 */
export async function shownTokenFlow(
  runtime: Runtime,
  tokenId: number,
  flags: { readonly policy?: string | undefined },
): Promise<Report<ShownTokenJson>> {
  const clock = await runtime.targetClock();
  const target = await runtime.target();
  const token = await readToken(target, tokenId, clock);
  if (token === null) {
    await resolveTokenIds(target, [tokenId]);
    throw new TokenctlError('not_found', `Token ${tokenId} is not listed`, {
      hint: `To see a deleted token: tokenctl tokens trace ${tokenId}`,
    });
  }
  const owner = token.user === null ? null : await ownerOf(runtime, token.user.username);
  const policy = policyOf(runtime, flags);
  const audit = await auditTokens({
    target,
    policy,
    clock,
    selector: { ids: [tokenId] },
    openLog: () => runtime.auditLog(),
  });
  const findings = (await Array.fromAsync(audit.findings)).filter(({ subject }) => subject.kind === 'token');
  findings.sort(mostSevereFirst);
  const { notChecked } = audit.summary();
  const { visibility } = await runtime.description();
  await noteLimit(runtime);
  return report({
    json: {
      token: tokenToJson(token),
      owner: owner === null ? null : userToJson(owner),
      findings: findings.map(({ rule, severity, message }) => ({ rule, severity, message })),
      notChecked,
      visibility,
    },
    document: shownDocument({ token, owner, findings, notChecked }),
  });
}

/** Null if the account does not see the owner. */
async function ownerOf(runtime: Runtime, username: string): Promise<ListedUser | null> {
  try {
    const target = await runtime.target();
    const [owner] = await Array.fromAsync(listUsers({ target, users: [{ pattern: patternOf(username) }] }));
    return owner ?? null;
  } catch (error) {
    if (error instanceof TokenctlError && (error.code === 'permission_refused' || error.code === 'not_found'))
      return null;
    throw error;
  }
}

function shownDocument(shown: {
  readonly token: Token;
  readonly owner: ListedUser | null;
  readonly findings: readonly Finding[];
  readonly notChecked: readonly { readonly rule: string; readonly why: string }[];
}): Document {
  const { token, owner, findings, notChecked } = shown;
  return [
    facts(
      tokenFacts(token).map(([name, value]) => [
        name,
        name === 'owner' && owner !== null ? `${value} (${ownerStateText(owner)})` : value,
      ]),
      `Token ${token.id}`,
    ),
    lines(
      findings.length === 0 ? 'No findings.' : 'Findings',
      findings.map(({ rule, severity, message }) => ({ mark: severity, text: `${rule}: ${message}` })),
      list(...notChecked.map(({ rule, why }) => warning`Not checked: ${rule}: ${why}.`)),
    ),
  ];
}
