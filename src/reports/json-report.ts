import type { Finding } from '../domain/policy/judge.ts';
import type { Token } from '../domain/token.ts';
import type { Audit } from '../operations/token-audit/audit-tokens.ts';
import { findingToJson, verdictToJson } from './finding-view.ts';
import { IncompleteListing } from './listing.ts';
import { printable } from './printable.ts';
import { tokenToJson } from './token-view.ts';

/**
 * An audit as one JSON document: `findings`, one a line as they are found, and after them what the summary
 * counts. A document that is not closed was cut short.
 */
export async function* jsonReport(audit: Audit): AsyncIterable<string> {
  const line = findingLines();
  let begun = false;
  try {
    for await (const finding of audit.findings) {
      yield (begun ? ',\n    ' : '{\n  "findings": [\n    ') + line(finding);
      begun = true;
    }
  } catch (error) {
    throw begun ? new IncompleteListing(error) : error;
  }
  const counts = JSON.stringify(audit.summary(), null, 2).slice(2);
  yield `${begun ? '\n  ],\n' : '{\n  "findings": [],\n'}${printable.lines(counts)}\n`;
}

/** Writes findings as JSON. Those of one token come together: what they say of it is made once. */
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

/** Most findings are plain ASCII, and what JSON leaves of that is printable: looking closer takes longer than all else. */
function harmless(line: string): string {
  return PLAIN.test(line) ? line : printable.lines(line);
}
