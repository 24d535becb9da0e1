import type { Finding } from '../domain/policy/judge.ts';
import { applicationOf, ownerOf, type Subject, subjectKey, subjectName } from '../domain/policy/subject.ts';
import type { Application, RefreshToken } from '../domain/token.ts';
import { type Listing, listing } from './result.ts';
import { tokenToJson } from './token-view.ts';

/**
 * The JSON form of a finding: what {@link verdictToJson} gives, and under the name of the subject's kind what
 * it is about.
 */
export function findingToJson(finding: Finding): object {
  return { ...verdictToJson(finding), ...subjectToJson(finding.subject) };
}

/** Rule, severity, message, `key` (stays the same from run to run) and `subject` (its kind) of a finding. */
export function verdictToJson({ rule, severity, subject, message }: Finding): object {
  return { rule, severity, message, key: subjectKey(subject), subject: subject.kind };
}

function subjectToJson(subject: Subject): object {
  switch (subject.kind) {
    case 'token':
      return { token: tokenToJson(subject.token) };
    case 'refreshToken':
      return { refreshToken: refreshTokenToJson(subject.refreshToken) };
    case 'application':
      return { application: applicationToJson(subject.application) };
    default: {
      const { kind: _kind, ...about } = subject;
      return about;
    }
  }
}

function refreshTokenToJson({ id, user, application, created, fingerprint }: RefreshToken): object {
  return { id, user, application, created: created.toISOString(), fingerprint };
}

function applicationToJson({ id, name, clientType, grantType, created }: Application): object {
  return { id, name, clientType, grantType, created: created.toISOString() };
}

/** Findings as rows, for the table and for CSV. */
export function findingListing(rows: AsyncIterable<Finding>): Listing<Finding> {
  return listing({
    rows,
    columns: [
      { name: 'severity', cell: ({ severity }) => severity, whole: true },
      { name: 'rule', cell: ({ rule }) => rule, whole: true },
      {
        name: 'subject',
        cell: ({ subject }) => subjectName(subject),
        csv: ({ subject }) => subjectKey(subject),
        whole: true,
      },
      { name: 'user', cell: ({ subject }) => ownerOf(subject)?.username ?? '', whole: true },
      { name: 'application', cell: ({ subject }) => applicationOf(subject)?.name ?? '', only: 'csv' },
      { name: 'finding', cell: ({ message }) => message, narrow: 'below' },
    ],
    json: findingToJson,
    none: 'No findings.',
  });
}
