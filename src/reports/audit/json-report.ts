import type { Visibility } from '../../domain/claims.ts';
import type { Audit, AuditSummary, Finding } from '../../domain/policy/judge.ts';
import type { RuleName } from '../../domain/policy/policy.ts';
import type { Severity } from '../../domain/policy/rule.ts';
import {
  type ExceptionReference,
  excusable,
  type Purpose,
  type Subject,
  subjectKey,
  subjectName,
} from '../../domain/policy/subject.ts';
import type { Application, RefreshToken, Token, UserReference } from '../../domain/token.ts';
import { type Column, IncompleteListing, type Listing, listing } from '../tables/listing.ts';
import { printable, type Tone } from '../tables/text.ts';
import { type TokenJson, tokenColumn, tokenToJson } from '../tables/token-view.ts';
import { type AuditedTarget, type AuditOriginJson, auditOrigin } from './audit-origin.ts';

/** The counts of an audit, where it comes from, and what the account sees. */
export interface AuditFrameJson extends AuditSummary {
  readonly origin: AuditOriginJson;
  readonly visibility: Visibility;
}

/** What `tokens audit` prints with `--json`. */
export interface AuditJson extends AuditFrameJson {
  readonly findings: readonly FindingJson[];
}

type FindingJson = VerdictJson & SubjectJson;

interface VerdictJson {
  readonly rule: RuleName;
  readonly severity: Severity;
  readonly message: string;
  /** Identifies the subject, stable between runs. */
  readonly key: string;
  /** The kind of its subject; the member of this name has the details. */
  readonly subject: Subject['kind'];
}

type SubjectJson =
  | { readonly token: TokenJson }
  | { readonly refreshToken: FoundRefreshToken }
  | { readonly application: Application }
  | { readonly user: UserReference }
  | { readonly day: string }
  | { readonly setting: string }
  | { readonly purpose: Purpose }
  | { readonly exception: ExceptionReference };

type FoundRefreshToken = Omit<RefreshToken, 'revoked' | 'accessTokenId'>;

/**
 * An audit as one JSON document: `origin`, `findings`, one per line as they arrive, then the counts of the
 * summary and the limits of the account's view. A document that is not closed was truncated.
 */
export async function* jsonReport(audit: Audit, target: AuditedTarget): AsyncIterable<string> {
  const origin = printable.lines(JSON.stringify({ origin: auditOrigin(audit, target) }, null, 2));
  const opening = `${origin.slice(0, -2)},\n  "findings": [`;
  const line = findingLines();
  let begun = false;
  try {
    for await (const page of audit.findings.pages()) {
      if (page.length === 0) continue;
      yield (begun ? ',\n    ' : `${opening}\n    `) + page.map(line).join(',\n    ');
      begun = true;
    }
  } catch (error) {
    throw begun ? new IncompleteListing(error) : error;
  }
  const counts = JSON.stringify({ ...audit.summary(), visibility: target.visibility }, null, 2).slice(2);
  yield `${begun ? '\n  ],\n' : `${opening}],\n`}${printable.lines(counts)}\n`;
}

/** Formats findings as JSON. Findings of one token are consecutive: its JSON is created once. */
function findingLines(): (finding: Finding) => string {
  let last: Token | null = null;
  let text = '';
  return (finding) => {
    const { subject } = finding;
    if (subject.kind !== 'token') return harmless(JSON.stringify(findingToJson(finding)));
    if (subject.token !== last) {
      last = subject.token;
      text = harmless(JSON.stringify(tokenToJson(last)));
    }
    return `${harmless(JSON.stringify(verdictToJson(finding))).slice(0, -1)},"token":${text}}`;
  };
}

const PLAIN = /^[ -~]*$/;

/** A fast path: most findings are plain ASCII, printable as JSON. A closer look dominates the cost. */
function harmless(line: string): string {
  return PLAIN.test(line) ? line : printable.lines(line);
}

/** The JSON form of a finding: as {@link verdictToJson}, with its subject under the name of the kind. */
function findingToJson(finding: Finding): FindingJson {
  return { ...verdictToJson(finding), ...subjectToJson(finding.subject) };
}

/** Rule, severity, message, `key` (stable between runs) and `subject` (its kind) of a finding. */
function verdictToJson({ rule, severity, subject, message }: Finding): VerdictJson {
  return { rule, severity, message, key: subjectKey(subject), subject: subject.kind };
}

function subjectToJson(subject: Subject): SubjectJson {
  switch (subject.kind) {
    case 'token':
      return { token: tokenToJson(subject.token) };
    case 'refreshToken': {
      const { revoked: _, accessTokenId: __, ...refreshToken } = subject.refreshToken;
      return { refreshToken };
    }
    default: {
      const { kind: _kind, ...about } = subject;
      return about;
    }
  }
}

export const severityTones: Readonly<Record<Severity, Tone>> = {
  critical: 'bad',
  high: 'bad',
  medium: 'warning',
  low: 'faint',
};

/** Findings as rows, for the table and for CSV. */
export function findingListing(
  rows: Iterable<Finding> | AsyncIterable<Finding>,
): Listing<Finding, FindingJson> {
  return listing({
    rows,
    columns: [
      {
        name: 'severity',
        cell: ({ severity }) => severity,
        tone: ({ severity }) => severityTones[severity],
        whole: true,
      },
      { name: 'rule', cell: ({ rule }) => rule, whole: true },
      {
        name: 'subject',
        cell: ({ subject }) => subjectName(subject),
        csv: ({ subject }) => subjectKey(subject),
        whole: true,
      },
      { name: 'user', cell: ({ subject }) => excusable(subject).user?.username ?? '', whole: true },
      { name: 'application', cell: ({ subject }) => excusable(subject).application?.name ?? '', only: 'csv' },
      { name: 'finding', cell: ({ message }) => message, narrow: 'below' },
      ...['id', 'scope', 'created', 'expires', 'last_used', 'description'].map((name) => ({
        ...ofToken(name),
        only: 'csv' as const,
      })),
    ],
    json: findingToJson,
    none: 'No findings.',
  });
}

/** Findings of one rule as rows; `isSaid` if the message only repeats the heading and other columns. */
export function ruleListing(rows: readonly Finding[], isSaid: boolean): Listing<Finding, FindingJson> {
  return listing<Finding, FindingJson>({
    rows,
    columns: [
      { name: 'subject', cell: ({ subject }) => subjectName(subject), whole: true },
      {
        name: 'user',
        cell: ({ subject }) => excusable(subject).user?.username ?? '',
        only: 'unlessEmpty',
        whole: true,
      },
      {
        name: 'application',
        cell: ({ subject }) => excusable(subject).application?.name ?? '',
        only: 'unlessEmpty',
      },
      ...['scope', 'created', 'expires', 'last_used'].map((name) => ({
        ...ofToken(name),
        only: 'unlessEmpty' as const,
      })),
      ...(isSaid
        ? []
        : [{ name: 'finding', cell: ({ message }: Finding) => message, narrow: 'below' as const }]),
    ],
    json: findingToJson,
    none: 'No findings.',
  });
}

/** A column of the token list, for findings about tokens; empty for others. */
function ofToken(name: string): Column<Finding> {
  const column = tokenColumn(name);
  const of =
    (cell: (token: Token) => string) =>
    ({ subject }: Finding) =>
      subject.kind === 'token' ? cell(subject.token) : '';
  return {
    name,
    cell: of((token) => column.cell(token)),
    csv: of((token) => column.csv?.(token) ?? column.cell(token)),
    short: of((token) => column.short?.(token) ?? column.cell(token)),
    ...(column.whole && { whole: column.whole }),
  };
}
