/** Findings by rule and by owner, against a baseline, with proposed exceptions and reports to download. */

import { Button, Label, PageSection, Toolbar, ToolbarContent, ToolbarItem } from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { countText, numberText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useState } from 'react';
import { type AuditRead, call, patternOf, query, useAddress, useAudit, useFacts } from './api.ts';
import { BaselineField, type Chosen, download, FORMATS } from './audit-files.tsx';
import { AboutRule, FindingTable } from './audit-findings.tsx';
import { PlaceNote, usePlace } from './controller.tsx';
import { Bars, Failure, NotInList, OneMessage, Severity, When } from './parts.tsx';

/** The state relative to a baseline. */
type State = NonNullable<AuditRead['findings'][number]['state']>;

export function Audit(): ReactNode {
  const { places } = useFacts();
  const [search, change] = useAddress();
  const filter = search.get('place');
  const chosen = usePlace(filter ?? places[0] ?? '');
  const isAll = filter === null && chosen?.isAlone === false;
  // With all contexts, each link leads to all.
  const place = isAll ? undefined : chosen?.place;
  const rule = search.get('rule');
  const severity = search.get('severity');
  const [baseline, setBaseline] = useState<Chosen | null>(null);
  const compared = place === undefined ? null : baseline;
  const [error, setError] = useState<Error | null>(null);
  const queries = useQueryClient();
  const plain = useAudit(chosen !== null && compared === null ? query('/api/audit', { place }) : null);
  const comparison = useQuery({
    enabled: compared !== null,
    queryKey: ['/api/audit', place, compared?.key],
    queryFn: ({ signal }) =>
      call<AuditRead>('/api/audit/comparison', { body: { place, baseline: compared?.text }, signal }),
  });
  const read = compared === null ? plain : comparison;
  return (
    <>
      <PageHeading
        title="Audit"
        actions={
          <Button
            variant="secondary"
            isLoading={read.isFetching}
            onClick={() =>
              void call('/api/tokens/read-again', { body: { place } }).then(
                () => queries.invalidateQueries(),
                setError,
              )
            }
          >
            Refresh
          </Button>
        }
      />
      <PageSection>
        <Toolbar>
          <ToolbarContent>
            {place === undefined ? (
              isAll && (
                <ToolbarItem>
                  Select a context to compare it with a baseline or to download its reports.
                </ToolbarItem>
              )
            ) : (
              <>
                <ToolbarItem>
                  <BaselineField chosen={baseline} onChoose={setBaseline} onError={setError} />
                </ToolbarItem>
                <ToolbarItem className="downloads">
                  <span id="downloads">Download:</span>
                  {FORMATS.map(([format, name]) => (
                    <Button
                      key={format}
                      variant="link"
                      id={`download-${format}`}
                      aria-labelledby={`downloads download-${format}`}
                      onClick={() =>
                        void download({ place, format, baseline }).then(() => setError(null), setError)
                      }
                    >
                      {name}
                    </Button>
                  ))}
                </ToolbarItem>
              </>
            )}
          </ToolbarContent>
        </Toolbar>
        {!isAll && chosen !== null && chosen.instead !== null && (
          <p>
            <PlaceNote chosen={chosen} />
          </p>
        )}
        <Failure error={error} />
        <Loaded query={read}>
          {(data) => (
            <Findings
              data={data}
              rule={rule}
              severity={rule === null ? severity : null}
              // A rule has one severity: either of them determines the list.
              onChoose={(rule, severity) => change({ rule, severity })}
              onContext={(place) => change({ place, only: null })}
              place={place}
            />
          )}
        </Loaded>
      </PageSection>
    </>
  );
}

/** Most severe first. */
const SEVERITIES = ['critical', 'high', 'medium', 'low'] as const;

type SeverityName = (typeof SEVERITIES)[number];

const STATES: readonly State[] = ['new', 'known', 'fixed'];

function Findings(props: {
  readonly data: AuditRead;
  readonly rule: string | null;
  readonly severity: string | null;
  readonly onChoose: (rule: string | null, severity: string | null) => void;
  readonly onContext: (place: string) => void;
  /** The displayed context; undefined for all. */
  readonly place: string | undefined;
}): ReactNode {
  const { data, rule, severity, onChoose, onContext, place } = props;
  const onRule = (next: string | null) => onChoose(next, null);
  const { summary, rules, owners, findings, byContext, incomplete, readings, at, trend } = data;
  const isOfSeveral = place === undefined;
  const [state, setState] = useState<State | null>(null);
  const shown = findings.filter(
    (finding) =>
      (rule === null || finding.rule === rule) &&
      (severity === null || finding.severity === severity) &&
      (trend === null || state === null || finding.state === state),
  );
  const findingOf = trend === null ? 'finding' : 'new finding';
  const found = rules.filter((each) => each.count > 0 && (severity === null || each.severity === severity));
  const chosen = rules.find((each) => each.rule === rule);
  const states = [summary.found, summary.known, summary.fixed].flatMap((count, index) => {
    const label = STATES[index];
    return count === null || label === undefined ? [] : [{ label, count, isChosen: label === state }];
  });
  return (
    <>
      <NotInList readings={readings} />
      <OneMessage
        variant="warning"
        title="Not all tokens are included"
        texts={incomplete.map(({ place: of, text }) => (isOfSeveral ? `${of}: ${text}` : text))}
      />
      <NotChecked notChecked={summary.notChecked} isOfSeveral={isOfSeveral} />
      <p className="counts">
        {chosen !== undefined && `${countText(chosen.count, findingOf)} of ${chosen.rule}. All rules: `}
        {countText(summary.found, findingOf)} in {countText(summary.tokensRead, 'token')}
        {isOfSeveral && ` of ${numberText(byContext.length)} of ${numberText(readings.length)} controllers`},{' '}
        <When at={at} none="not read yet" />.{' '}
        {summary.excused > 0 && `Suppressed by exceptions: ${numberText(summary.excused)}.`}
      </p>
      <Severities
        counts={summary.bySeverity}
        chosen={severity}
        onChoose={(next) => onChoose(null, next === severity ? null : next)}
      />
      {trend !== null && (
        <p role="status" className="counts">
          {trend}
        </p>
      )}
      {chosen !== undefined && <AboutRule key={chosen.rule} read={chosen} place={place} />}
      <div className="charts wide">
        <Bars
          title="By rule"
          unit="findings"
          bars={found.map((each) => ({ label: each.rule, count: each.count, isChosen: each.rule === rule }))}
          onChoose={(index) => onRule(found[index]?.rule === rule ? null : (found[index]?.rule ?? null))}
        />
        <Bars
          title={`By owner${chosen !== undefined ? `, of ${chosen.rule}` : severity === null ? '' : ', of all severities'}`}
          unit="findings"
          bars={(chosen?.owners ?? owners)
            .slice(0, 10)
            .map(({ name, count }) => ({
              label: name,
              count,
              to: query('/tokens', {
                place,
                user: patternOf(name),
                finding: chosen?.selects === true ? chosen.rule : undefined,
              }),
            }))}
        />
        {byContext.length > 1 && (
          <Bars
            title={chosen === undefined ? 'By context' : `By context, of ${chosen.rule}`}
            unit="findings"
            bars={byContext.map((each) => ({
              label: each.place,
              count:
                rule !== null
                  ? (each.byRule[rule] ?? 0)
                  : severity !== null
                    ? (each.bySeverity[severity as SeverityName] ?? 0)
                    : each.found,
            }))}
            onChoose={(index) => onContext(byContext[index]?.place ?? '')}
          />
        )}
        {trend !== null && (
          <Bars
            title="Compared with the baseline"
            unit="findings"
            bars={states}
            onChoose={(index) =>
              setState(states[index]?.label === state ? null : (states[index]?.label ?? null))
            }
          />
        )}
      </div>
      {rule !== null && !found.some((each) => each.rule === rule) && (
        <Label onClose={() => onRule(null)} closeBtnAriaLabel="Show all rules">
          Rule: {rule}
        </Label>
      )}
      {shown.length === 0 ? (
        <p>
          {rule === null || chosen !== undefined
            ? 'No finding.'
            : `The rule ${rule} was not checked or does not exist.`}
        </p>
      ) : (
        <FindingTable
          findings={shown}
          total={totalOf(data, { rule, severity, state })}
          isCompared={trend !== null}
          isOfSeveral={isOfSeveral}
        />
      )}
    </>
  );
}

/** Number of findings for the list, listed or not; null if the audit does not count exactly these. */
function totalOf(
  { summary, rules, trend }: AuditRead,
  chosen: { readonly rule: string | null; readonly severity: string | null; readonly state: State | null },
): number | null {
  const { rule, severity, state } = chosen;
  if (trend === null) {
    if (severity !== null) return summary.bySeverity[severity as SeverityName] ?? 0;
    return rule === null ? summary.found : (rules.find((each) => each.rule === rule)?.count ?? 0);
  }
  if (rule !== null || severity !== null || state === null) return null;
  return { new: summary.found, known: summary.known, fixed: summary.fixed }[state];
}

/** Number of findings per severity, to filter by it. */
function Severities(props: {
  readonly counts: AuditRead['summary']['bySeverity'];
  readonly chosen: string | null;
  readonly onChoose: (severity: string) => void;
}): ReactNode {
  const { counts, chosen, onChoose } = props;
  const found = SEVERITIES.filter((severity) => (counts[severity] ?? 0) > 0 || severity === chosen);
  if (found.length === 0) return null;
  return (
    <section aria-label="By severity" className="severities">
      {found.map((severity) => (
        <button
          key={severity}
          type="button"
          className="severity"
          aria-pressed={severity === chosen}
          onClick={() => onChoose(severity)}
        >
          <Severity severity={severity} count={counts[severity]} />
        </button>
      ))}
    </section>
  );
}

/** One message for all rules that were not checked, grouped by reason. */
function NotChecked(props: {
  readonly notChecked: AuditRead['summary']['notChecked'];
  readonly isOfSeveral: boolean;
}): ReactNode {
  const { notChecked, isOfSeveral } = props;
  const byReason = [...Map.groupBy(notChecked, ({ place, why }) => `${place} ${why}`).values()].map(
    (same) => ({
      places: same.flatMap(({ place }, index) => (index === 0 ? place : [])),
      text: `${same.map(({ rule }) => rule).join(', ')}. ${same[0]?.why.replace(/(?<![.?!])$/, '.')}`,
    }),
  );
  const reasons = [...Map.groupBy(byReason, ({ text }) => text)].map(([text, same]) => {
    const where = same.flatMap(({ places }) => places).join(', ');
    return isOfSeveral ? `${where}: ${text}` : text;
  });
  const [only] = reasons;
  return (
    <OneMessage
      variant="warning"
      title={`${countText(new Set(notChecked.map(({ rule }) => rule)).size, 'rule')} were not checked`}
      // With several, the title says it.
      texts={reasons.length === 1 ? [`Not checked${isOfSeveral ? ' in' : ':'} ${only}`] : reasons}
    />
  );
}
