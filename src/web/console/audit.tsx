/** Findings by rule and by owner, and the reports of the command to download. */
import {
  Alert,
  Button,
  ExpandableSection,
  FormSelect,
  FormSelectOption,
  PageSection,
  Toolbar,
  ToolbarContent,
  ToolbarItem,
} from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { type ReactNode, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { Loaded } from '../shared/states.tsx';
import { query, send, useFacts, useRead } from './api.ts';
import { Bars, CommandLine, Heading, number, Severity, When } from './parts.tsx';

/** An audit of a context. */
export interface AuditRead {
  readonly at: string;
  readonly incomplete: string | null;
  readonly summary: {
    readonly tokensRead: number;
    readonly found: number;
    readonly bySeverity: Readonly<Record<string, number>>;
    readonly notChecked: readonly { readonly rule: string; readonly why: string }[];
  };
  readonly rules: readonly {
    readonly rule: string;
    readonly count: number;
    readonly severity: string;
    /** Whether tokens can be selected by it. */
    readonly selects: boolean;
    readonly finds: string;
    readonly matters: string;
    readonly remedy: string;
  }[];
  readonly owners: readonly { readonly name: string; readonly count: number }[];
  readonly findings: readonly {
    readonly rule: string;
    readonly severity: string;
    readonly subject: string;
    readonly owner: string | null;
    readonly tokenId: number | null;
    readonly message: string;
  }[];
}

const FORMATS = ['html', 'csv', 'json', 'sarif'] as const;

/** The page. */
export function Audit(): ReactNode {
  const { places } = useFacts();
  const [search, setSearch] = useSearchParams();
  const place = search.get('place') ?? places[0] ?? '';
  const rule = search.get('rule');
  const read = useRead<AuditRead>(query('/api/audit', { place }));
  const [error, setError] = useState<Error | null>(null);
  const set = (name: string, value: string | null) =>
    setSearch((before) => {
      if (value === null) before.delete(name);
      else before.set(name, value);
      return before;
    });
  return (
    <>
      <Heading
        title="Audit"
        actions={
          <Button variant="secondary" isLoading={read.isFetching} onClick={() => void read.refetch()}>
            Audit again
          </Button>
        }
      />
      <PageSection>
        <Toolbar>
          <ToolbarContent>
            {places.length > 1 && (
              <ToolbarItem>
                <FormSelect
                  aria-label="Context"
                  value={place}
                  onChange={(_event, value) => set('place', value)}
                >
                  {places.map((each) => (
                    <FormSelectOption key={each} value={each} label={each} />
                  ))}
                </FormSelect>
              </ToolbarItem>
            )}
            {FORMATS.map((format) => (
              <ToolbarItem key={format}>
                <Button variant="link" onClick={() => void download(place, format).catch(setError)}>
                  Download {format.toUpperCase()}
                </Button>
              </ToolbarItem>
            ))}
          </ToolbarContent>
        </Toolbar>
        {error !== null && <Alert isInline variant="danger" title={error.message} />}
        <Loaded query={read}>
          {(data) => (
            <Findings data={data} rule={rule} onRule={(value) => set('rule', value)} place={place} />
          )}
        </Loaded>
      </PageSection>
    </>
  );
}

async function download(place: string, format: string): Promise<void> {
  const response = await send(query('/api/audit/export', { place, format }));
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await response.blob());
  link.download = `audit-${place.replace('/', '+')}.${format}`;
  link.click();
  URL.revokeObjectURL(link.href);
}

function Findings(props: {
  readonly data: AuditRead;
  readonly rule: string | null;
  readonly onRule: (rule: string | null) => void;
  readonly place: string;
}): ReactNode {
  const { data, rule, onRule, place } = props;
  const { summary, rules, owners, findings, incomplete, at } = data;
  const shown = rule === null ? findings : findings.filter((finding) => finding.rule === rule);
  const found = rules.filter(({ count }) => count > 0);
  return (
    <>
      {incomplete !== null && <Alert isInline variant="warning" title={incomplete} />}
      {summary.notChecked.map((each) => (
        <Alert key={each.rule} isInline variant="warning" title={`Not checked: ${each.rule}. ${each.why}`} />
      ))}
      <p>
        {number(summary.found)} findings in {number(summary.tokensRead)} tokens, <When at={at} />.
      </p>
      <div className="charts">
        <Bars
          title="By rule"
          bars={found.map((each) => ({ label: each.rule, count: each.count, isChosen: each.rule === rule }))}
          onChoose={(index) => onRule(found[index]?.rule === rule ? null : (found[index]?.rule ?? null))}
        />
        <Bars
          title="By owner"
          bars={owners.slice(0, 10).map(({ name, count }) => ({ label: name, count }))}
        />
      </div>
      {found
        .filter((each) => each.rule === rule)
        .map(({ finds, matters, remedy, selects }) => (
          <ExpandableSection key={finds} toggleText="About this rule" isIndented>
            <p>{finds}</p>
            <p>{matters}</p>
            <p>{remedy}</p>
            {selects && rule !== null && (
              <p>
                <Link to={query('/tokens', { place, finding: rule })}>Its tokens</Link>
              </p>
            )}
            <CommandLine command={`tokenctl tokens audit --rule ${rule} --list --context ${place}`} />
          </ExpandableSection>
        ))}
      <Table aria-label="Findings" variant="compact">
        <Thead>
          <Tr>
            <Th>Severity</Th>
            <Th>Rule</Th>
            <Th>About</Th>
            <Th>Owner</Th>
            <Th>What</Th>
          </Tr>
        </Thead>
        <Tbody>
          {shown.slice(0, SHOWN).map((finding) => (
            <Tr key={`${finding.rule} ${finding.subject}`}>
              <Td dataLabel="Severity">
                <Severity severity={finding.severity} />
              </Td>
              <Td dataLabel="Rule">{finding.rule}</Td>
              <Td dataLabel="About">
                {finding.tokenId === null ? (
                  finding.subject
                ) : (
                  <Link to={query('/tokens', { place, text: finding.tokenId })}>token {finding.tokenId}</Link>
                )}
              </Td>
              <Td dataLabel="Owner">{finding.owner ?? ''}</Td>
              <Td dataLabel="What">{finding.message}</Td>
            </Tr>
          ))}
        </Tbody>
      </Table>
      {summary.found > Math.min(SHOWN, shown.length) && (
        <p>The worst {number(Math.min(SHOWN, shown.length))} are listed. The downloads have all.</p>
      )}
    </>
  );
}

const SHOWN = 200;
