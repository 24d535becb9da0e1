import { capital } from '@tokenctl/common/text.ts';
import { incompleteText } from '../../domain/claims.ts';
import type { Audit, Finding, FixedFinding } from '../../domain/policy/judge.ts';
import { type RuleName, ruleNames, rules } from '../../domain/policy/policy.ts';
import type { Severity } from '../../domain/policy/rule.ts';
import { type Subject, subjectKey, subjectName } from '../../domain/policy/subject.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { IncompleteListing } from '../tables/listing.ts';
import { printable } from '../tables/text.ts';
import { FIXED } from './csv-report.ts';

/** What the SARIF log contains in addition to the findings. */
export interface SarifContext {
  readonly description: Pick<TargetDescription, 'context' | 'address' | 'identity' | 'visibility'>;
  readonly version: string;
}

/** SARIF knows three levels (section 3.27.10); two of our severities are errors. */
const levels: Readonly<Record<Severity, 'note' | 'warning' | 'error'>> = {
  low: 'note',
  medium: 'warning',
  high: 'error',
  critical: 'error',
};

/** From 0 to 10: code-scanning dashboards sort by this property of a rule. */
const securitySeverity: Readonly<Record<Severity, string>> = {
  low: '3.0',
  medium: '5.5',
  high: '8.0',
  critical: '9.5',
};

/** The name of the base URI for all locations. */
const BASE = 'CONTROLLER';

/**
 * An audit as a SARIF 2.1.0 log of one run, one result per line as they arrive, for code-scanning dashboards.
 * Unchecked rules become notifications. Fingerprints are stable between runs.
 */
export async function* sarifReport(audit: Audit, context: SarifContext): AsyncIterable<string> {
  yield opening(audit, context);
  let separator = '\n      ';
  try {
    // With a baseline, every result has its state (section 3.27.24).
    const isCompared = audit.summary().known !== null;
    const lineOf = (finding: Finding) =>
      line({
        ...resultOf(finding),
        ...(isCompared && { baselineState: finding.isKnown ? 'unchanged' : 'new' }),
      });
    for await (const page of audit.findings.pages()) {
      if (page.length === 0) continue;
      yield separator + page.map(lineOf).join(',\n      ');
      separator = ',\n      ';
    }
    for (const finding of audit.fixed()) {
      yield separator + line(fixedResult(finding));
      separator = ',\n      ';
    }
  } catch (error) {
    throw new IncompleteListing(error);
  }
  yield closing(audit, context);
}

/** The log up to the first result. */
function opening(audit: Audit, { description, version }: SarifContext): string {
  const driver = { name: 'tokenctl', version, semanticVersion: version, rules: ruleNames.map(ruleOf(audit)) };
  return `{
  "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
  "version": "2.1.0",
  "runs": [{
    "tool": ${line({ driver })},
    "automationDetails": ${line({ id: `tokenctl/${description.context}/` })},
    "originalUriBaseIds": ${line({ [BASE]: { uri: `${description.address.replace(/\/+$/, '')}/` } })},
    "results": [`;
}

function closing(audit: Audit, { description }: SarifContext): string {
  const { notChecked, tokensRead, found, known, fixed } = audit.summary();
  const trend = known === null ? {} : { trend: { new: found, known, fixed } };
  const incomplete = incompleteText(description);
  const invocation = {
    executionSuccessful: true,
    startTimeUtc: audit.now.toISOString(),
    toolExecutionNotifications: [
      ...(incomplete === null ? [] : [{ level: 'warning', message: { text: `${incomplete}.` } }]),
      ...notChecked.map(({ rule, why }) => ({
        level: 'warning',
        message: { text: `Not checked: ${rule}: ${why}.` },
        associatedRule: { id: rule, index: ruleNames.indexOf(rule) },
      })),
    ],
  };
  return `
    ],
    "invocations": ${line([invocation])},
    "properties": ${line({ tokensRead, ...trend, visibility: description.visibility })}
  }]
}
`;
}

function ruleOf(audit: Audit): (name: RuleName) => object {
  return (name) => {
    const { help } = rules[name];
    const { severity, enabled } = audit.policy[name];
    const text = `${help.finds} ${help.matters}\n\nRemedy: ${help.remedy}\nReference: ${help.reference}`;
    const markdown = `${help.finds}\n\n${help.matters}\n\n**Remedy:** ${help.remedy}\n\n**Reference:** ${help.reference}`;
    return {
      id: name,
      shortDescription: { text: help.finds },
      fullDescription: { text: help.matters },
      help: { text, markdown },
      defaultConfiguration: { enabled, level: levels[severity] },
      properties: { 'security-severity': securitySeverity[severity], tags: ['security', 'oauth2'] },
    };
  };
}

function resultOf(finding: Finding): object {
  const { subject, message } = finding;
  const name = subjectName(subject);
  return result(finding, { name, key: subjectKey(subject), uri: pathOf(subject), message });
}

function fixedResult(finding: FixedFinding): object {
  const { key } = finding;
  const [kind, id] = key.split(':');
  const resource = { token: 'tokens', application: 'applications', user: 'users' }[kind ?? ''];
  const uri = resource === undefined ? 'api/v2/tokens/' : `api/v2/${resource}/${id}/`;
  return { ...result(finding, { name: key, key, uri, message: FIXED }), baselineState: 'absent' };
}

function result(
  { rule, severity }: Pick<Finding, 'rule' | 'severity'>,
  { name, key, uri, message }: Readonly<Record<'name' | 'key' | 'uri' | 'message', string>>,
): object {
  return {
    ruleId: rule,
    ruleIndex: ruleNames.indexOf(rule),
    level: levels[severity],
    message: { text: `${capital(name)}: ${message}` },
    locations: [
      {
        // Dashboards only show a result that has a location in a file.
        physicalLocation: { artifactLocation: { uri, uriBaseId: BASE }, region: { startLine: 1 } },
        logicalLocations: [{ name, fullyQualifiedName: key, kind: 'resource' }],
      },
    ],
    partialFingerprints: { 'tokenctlFinding/v1': `${rule} ${key}` },
    properties: { severity },
  };
}

/** The subject's path in the API, relative to the controller's address. */
function pathOf(subject: Subject): string {
  switch (subject.kind) {
    case 'token':
      return `api/v2/tokens/${subject.token.id}/`;
    case 'application':
      return `api/v2/applications/${subject.application.id}/`;
    case 'user':
      return `api/v2/users/${subject.user.id}/`;
    case 'purpose':
      return `api/v2/users/${subject.purpose.user.id}/tokens/`;
    case 'setting':
      return 'api/v2/settings/authentication/';
    case 'day':
    case 'refreshToken':
      return 'api/v2/tokens/';
    case 'exception':
      return `policy/${subject.exception.rule}`;
  }
}

function line(value: unknown): string {
  return printable.lines(JSON.stringify(value));
}
