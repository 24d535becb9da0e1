/** Findings by rule and by owner, against a baseline, with exceptions to propose and the reports of the command to download. */

import {
  Button,
  ExpandableSection,
  Label,
  PageSection,
  Toolbar,
  ToolbarContent,
  ToolbarItem,
} from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { type Column, PlainTable } from '@tokenctl/common/web/table.tsx';
import { countText, numberText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import type { AuditRead as Audited } from '../../console/audits.ts';
import { call, type Json, patternOf, query, useAddress, useFacts } from './api.ts';
import { AuditContexts } from './audit-contexts.tsx';
import { BaselineField, type Chosen, download, FORMATS } from './audit-files.tsx';
import { OwnCommand } from './commands.tsx';
import { ContextFilter, PlaceNote, usePlace } from './controller.tsx';
import { ExceptionDialog, type RuleRead } from './exception.tsx';
import { Bars, Failure, Heading, Message, OneMessage, Severity, When } from './parts.tsx';

/** Compared with a baseline. */
type State = NonNullable<Json<Audited>['findings'][number]['state']>;

export type AuditRead = Json<Audited>;

export function Audit(): ReactNode {
  const { places } = useFacts();
  const [search, change] = useAddress();
  const filter = search.get('place');
  const chosen = usePlace(filter ?? places[0] ?? '');
  const isAll = filter === null && chosen?.isAlone === false;
  const place = chosen?.place ?? '';
  const rule = search.get('rule');
  const severity = search.get('severity');
  const [baseline, setBaseline] = useState<Chosen | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const queries = useQueryClient();
  const read = useQuery({
    enabled: chosen !== null && !isAll,
    queryKey: ['/api/audit', place, baseline?.key ?? null],
    queryFn: ({ signal }) =>
      baseline === null
        ? call<AuditRead>(query('/api/audit', { place }), { signal })
        : call<AuditRead>('/api/audit/comparison', { body: { place, baseline: baseline.text }, signal }),
  });
  return (
    <>
      <Heading
        title="Audit"
        actions={
          <Button
            variant="secondary"
            isLoading={read.isFetching}
            onClick={() =>
              void call('/api/tokens/read-again', { body: isAll ? {} : { place } }).then(
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
            <ContextFilter value={filter} onChange={(place) => change({ place, only: null })} />
            {!isAll && (
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
        {isAll ? (
          <AuditContexts />
        ) : (
          <Loaded query={read}>
            {(data) => (
              <Findings
                data={data}
                rule={rule}
                severity={rule === null ? severity : null}
                // Each rule has its severity: one of both says what is listed.
                onChoose={(rule, severity) => change({ rule, severity })}
                place={place}
              />
            )}
          </Loaded>
        )}
      </PageSection>
    </>
  );
}

/** The worst first. */
const SEVERITIES = ['critical', 'high', 'medium', 'low'] as const;

const STATES: readonly State[] = ['new', 'known', 'fixed'];

function Findings(props: {
  readonly data: AuditRead;
  readonly rule: string | null;
  readonly severity: string | null;
  readonly onChoose: (rule: string | null, severity: string | null) => void;
  readonly place: string;
}): ReactNode {
  const { data, rule, severity, onChoose, place } = props;
  const onRule = (next: string | null) => onChoose(next, null);
  const { summary, rules, owners, findings, incomplete, at, trend } = data;
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
      {incomplete !== null && <Message variant="warning" title={incomplete} />}
      <NotChecked notChecked={summary.notChecked} />
      <p className="counts">
        {chosen !== undefined && `${countText(chosen.count, findingOf)} of ${chosen.rule}. All rules: `}
        {countText(summary.found, findingOf)} in {countText(summary.tokensRead, 'token')}, <When at={at} />.{' '}
        <Excused excused={summary.excused} />
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
      <div className="charts wide">
        <Bars
          title="By rule"
          unit="findings"
          bars={found.map((each) => ({ label: each.rule, count: each.count, isChosen: each.rule === rule }))}
          onChoose={(index) => onRule(found[index]?.rule === rule ? null : (found[index]?.rule ?? null))}
        />
        <Bars
          title={chosen === undefined ? 'By owner' : `By owner, of ${chosen.rule}`}
          unit="findings"
          bars={(chosen?.owners ?? owners).slice(0, 10).map(({ name, count }) => ({
            label: name,
            count,
            to: query('/tokens', {
              place,
              user: patternOf(name),
              finding: chosen?.selects === true ? chosen.rule : undefined,
            }),
          }))}
        />
        {trend !== null && (
          <Bars
            title="Against the baseline"
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
      {chosen !== undefined && <AboutRule key={chosen.rule} read={chosen} place={place} />}
      {shown.length === 0 ? (
        <p>
          {rule === null || chosen !== undefined
            ? 'No finding.'
            : `The rule ${rule} was not checked, or there is no such rule.`}
        </p>
      ) : (
        <FindingTable
          findings={shown}
          total={totalOf(data, { rule, severity, state })}
          isCompared={trend !== null}
          place={place}
        />
      )}
    </>
  );
}

/** How many findings there are of what is listed, listed or not; null where the audit does not count just these. */
function totalOf(
  { summary, rules, trend }: AuditRead,
  chosen: { readonly rule: string | null; readonly severity: string | null; readonly state: State | null },
): number | null {
  const { rule, severity, state } = chosen;
  if (trend === null) {
    if (severity !== null) return summary.bySeverity[severity as keyof typeof summary.bySeverity] ?? 0;
    return rule === null ? summary.found : (rules.find((each) => each.rule === rule)?.count ?? 0);
  }
  if (rule !== null || severity !== null || state === null) return null;
  return { new: summary.found, known: summary.known, fixed: summary.fixed }[state];
}

/** How many findings there are of each severity, to list only those. */
function Severities({
  counts,
  chosen,
  onChoose,
}: {
  readonly counts: AuditRead['summary']['bySeverity'];
  readonly chosen: string | null;
  readonly onChoose: (severity: string) => void;
}): ReactNode {
  const found = SEVERITIES.filter((severity) => counts[severity] > 0 || severity === chosen);
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

/** One message for all rules that were not checked: those with one reason in one line. */
function NotChecked({ notChecked }: { readonly notChecked: AuditRead['summary']['notChecked'] }): ReactNode {
  const byReason = [...Map.groupBy(notChecked, ({ why }) => why)];
  // The title of several says it.
  const start = byReason.length === 1 ? 'Not checked: ' : '';
  const reasons = byReason.map(([why, rules]) => {
    const names = rules.map(({ rule }) => rule).join(', ');
    return `${start}${names}. ${/[.?!]$/.test(why) ? why : `${why}.`}`;
  });
  return (
    <OneMessage
      variant="warning"
      title={`${numberText(notChecked.length)} rules were not checked`}
      texts={reasons}
    />
  );
}

function Excused({ excused }: { readonly excused: AuditRead['summary']['excused'] }): ReactNode {
  const count = Object.values(excused).reduce((sum, each) => sum + each, 0);
  return count === 0 ? null : `Suppressed by exceptions: ${numberText(count)}.`;
}

function AboutRule({ read, place }: { readonly read: RuleRead; readonly place: string }): ReactNode {
  const { rule, finds, matters, remedy, selects, count } = read;
  const [isProposing, setProposing] = useState(false);
  return (
    <>
      <ExpandableSection toggleText="About this rule" isIndented>
        <p>{finds}</p>
        <p>{matters}</p>
        <p>{remedy}</p>
        {selects && (
          <p>
            <Link to={query('/tokens', { place, finding: rule })}>Its tokens</Link>
          </p>
        )}
        <OwnCommand words={`tokens audit --rule ${rule} --list`} place={place} />
      </ExpandableSection>
      {count > 0 && (
        <Button variant="link" onClick={() => setProposing(true)}>
          Write an exception…
        </Button>
      )}
      {isProposing && <ExceptionDialog read={read} onClose={() => setProposing(false)} />}
    </>
  );
}

const SHOWN = 200;

const OWNER: Column<AuditRead['findings'][number]> = {
  title: 'Owner',
  // A setting and an application have none.
  show: ({ owner }) => owner || 'none',
};

const STATE: Column<AuditRead['findings'][number]> = { title: 'State', show: ({ state }) => state };

function FindingTable(props: {
  readonly findings: AuditRead['findings'];
  /** How many there are, listed or not; null where that is not counted. */
  readonly total: number | null;
  readonly isCompared: boolean;
  readonly place: string;
}): ReactNode {
  const { findings, total, isCompared, place } = props;
  const listed = Math.min(SHOWN, findings.length);
  return (
    <>
      <PlainTable
        label="Findings"
        rows={findings.slice(0, SHOWN)}
        keyOf={({ rule, subject }) => `${rule} ${subject}`}
        columns={[
          {
            title: 'Severity',
            show: ({ severity }) => (
              <Severity severity={severity} to={query('/audit', { place, severity })} />
            ),
          },
          { title: 'Rule', show: ({ rule }) => <span className="rule">{rule}</span> },
          ...(isCompared ? [STATE] : []),
          {
            title: 'About',
            show: ({ tokenId, subject }) =>
              tokenId === null ? (
                subject
              ) : (
                <Link className="whole" to={query('/tokens', { place, text: tokenId })}>
                  token {tokenId}
                </Link>
              ),
          },
          ...(findings.some(({ owner }) => owner !== null && owner !== '') ? [OWNER] : []),
          { title: 'What', show: ({ message }) => message },
        ]}
      />
      {(total === null ? listed === SHOWN : listed < total) && (
        <p>
          {numberText(listed)} {total !== null && `of ${numberText(total)} `}are listed, the worst first. The
          downloads have all.
        </p>
      )}
    </>
  );
}
