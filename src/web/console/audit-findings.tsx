/** The findings of an audit as a list, with an explanation of their rule. */
import { Button } from '@patternfly/react-core';
import { type Column, PlainTable } from '@tokenctl/common/web/table.tsx';
import { numberText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { type AuditRead, query, useFacts } from './api.ts';
import { OwnCommand } from './commands.tsx';
import { ExceptionDialog, type RuleRead } from './exception.tsx';
import { Severity } from './parts.tsx';

/** What a rule of the policy finds, and a proposed exception for it. */
export function AboutRule({ read, place }: { read: RuleRead; place: string | undefined }): ReactNode {
  const { places } = useFacts();
  const { rule, finds, matters, remedy, selects, count } = read;
  const [isProposing, setProposing] = useState(false);
  return (
    <>
      <section aria-label="About this rule">
        <p>{finds}</p>
        <p>{matters}</p>
        <p>{remedy}</p>
        {selects && (
          <p>
            <Link to={query('/tokens', { place, finding: rule })}>Its tokens</Link>
          </p>
        )}
        <OwnCommand words={`tokens audit --rule ${rule} --list`} place={place ?? places.join(',')} />
      </section>
      {count > 0 && (
        <Button variant="link" onClick={() => setProposing(true)}>
          Add an exception…
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

const CONTEXT: Column<AuditRead['findings'][number]> = { title: 'Context', show: ({ place }) => place };

const STATE: Column<AuditRead['findings'][number]> = { title: 'State', show: ({ state }) => state };

/** The findings, most severe first. */
export function FindingTable(props: {
  readonly findings: AuditRead['findings'];
  /** Their number, listed or not; null if unknown. */
  readonly total: number | null;
  readonly isCompared: boolean;
  readonly isOfSeveral: boolean;
}): ReactNode {
  const { findings, total, isCompared, isOfSeveral } = props;
  const listed = Math.min(SHOWN, findings.length);
  return (
    <>
      <PlainTable
        label="Findings"
        rows={findings.slice(0, SHOWN)}
        keyOf={({ place, rule, subject }) => `${place} ${rule} ${subject}`}
        columns={[
          {
            title: 'Severity',
            show: ({ place, severity }) => (
              <Severity
                severity={severity}
                to={query('/audit', { place: isOfSeveral ? undefined : place, severity })}
              />
            ),
          },
          ...(isOfSeveral ? [CONTEXT] : []),
          { title: 'Rule', show: ({ rule }) => <span className="rule">{rule}</span> },
          ...(isCompared ? [STATE] : []),
          {
            title: 'About',
            show: ({ place, tokenId, subject }) =>
              tokenId === null ? (
                subject
              ) : (
                <Link className="whole" to={query('/tokens', { place, id: tokenId })}>
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
          {numberText(listed)} {total !== null && `of ${numberText(total)} `}are listed, most severe first.
          The downloads contain all of them.
        </p>
      )}
    </>
  );
}
