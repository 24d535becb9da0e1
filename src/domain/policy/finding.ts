import type { RuleName } from './policy.ts';
import type { Check } from './rule.ts';
import type { Severity } from './severity.ts';
import { type Subject, subjectKey } from './subject.ts';

/** One rule's verdict on one subject. */
export interface Finding {
  readonly rule: RuleName;
  readonly severity: Severity;
  readonly subject: Subject;
  /** What is wrong, as a sentence. Made when it is asked for: most findings of a large audit are only counted. */
  readonly message: string;
}

/** A finding whose message its rule makes when asked for it. */
export class CheckedFinding<Item> implements Finding {
  readonly rule: RuleName;
  readonly severity: Severity;
  readonly subject: Subject;
  readonly #check: Check<Item>;
  readonly #item: Item;

  constructor(
    { rule, severity, check }: { rule: RuleName; severity: Severity; check: Check<Item> },
    subject: Subject,
    item: Item,
  ) {
    this.rule = rule;
    this.severity = severity;
    this.subject = subject;
    this.#check = check;
    this.#item = item;
  }

  get message(): string {
    return this.#check.message(this.#item);
  }
}

/** What names a finding from run to run: the rule and the subject, as `never-used token:17`. */
export function findingKey({ rule, subject }: Pick<Finding, 'rule' | 'subject'>): string {
  return `${rule} ${subjectKey(subject)}`;
}
