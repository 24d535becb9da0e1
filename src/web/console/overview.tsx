/** Every context as a card, those with problems first. */
import {
  Alert,
  Card,
  CardBody,
  CardTitle,
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
  Gallery,
  Label,
  LabelGroup,
  PageSection,
  Spinner,
} from '@patternfly/react-core';
import { useQueries } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { type ContextRead, call, query, useFacts, useRead } from './api.ts';
import type { AuditRead } from './audit.tsx';
import type { IncidentsRead } from './incidents.tsx';
import { Bars, Heading, number, Severity, When } from './parts.tsx';
import type { TokenPage } from './token-rows.tsx';

/** The page. */
export function Overview(): ReactNode {
  const { places } = useFacts();
  const reads = useQueries({
    queries: places.map((place) => {
      const path = query('/api/overview', { place });
      return { queryKey: [path], queryFn: () => call<ContextRead>(path) };
    }),
  });
  const cards = places
    .map((place, index) => ({ place, read: reads[index] }))
    .map(({ place, read }) => ({
      ...{ place, data: read?.data, error: read?.error ?? null },
      problems: read?.error ? 100 : (read?.data?.warnings.length ?? 0),
    }))
    .toSorted((one, other) => other.problems - one.problems);
  return (
    <>
      <Heading title="Overview" />
      <PageSection>
        <Gallery hasGutter minWidths={{ default: '22rem' }} maxWidths={{ default: '40rem' }}>
          {cards.map(({ place, data, error }) => (
            <ContextCard key={place} place={place} data={data} error={error} />
          ))}
        </Gallery>
      </PageSection>
    </>
  );
}

interface CardProps {
  readonly place: string;
  readonly data: ContextRead | undefined;
  readonly error: Error | null;
}

function ContextCard({ place, data, error }: CardProps): ReactNode {
  return (
    <Card component="section" aria-label={place}>
      <CardTitle component="h2">
        {place}{' '}
        {error === null ? (
          data !== undefined && <Label color="green">reachable</Label>
        ) : (
          <Label color="red">not reachable</Label>
        )}
      </CardTitle>
      <CardBody>
        {error !== null && <Alert isInline variant="danger" title={error.message} />}
        {error === null && data === undefined && <Spinner size="md" aria-label={`Reading ${place}`} />}
        {data !== undefined && <ContextFacts data={data} />}
      </CardBody>
    </Card>
  );
}

function ContextFacts({ data }: { readonly data: ContextRead }): ReactNode {
  const { place, address, dialect, product, identity, warnings, ownToken, incomplete } = data;
  const role = identity.isSuperuser ? 'superuser' : identity.isSystemAuditor ? 'system auditor' : 'user';
  return (
    <>
      {incomplete !== null && <Alert isInline isPlain variant="warning" title={incomplete} />}
      {warnings.map((warning) => (
        <Alert key={warning} isInline isPlain variant="warning" title={warning} />
      ))}
      <DescriptionList
        className="facts"
        isHorizontal
        isCompact
        horizontalTermWidthModifier={{ default: '8rem' }}
      >
        <Fact term="Target">
          {dialect} {product ?? ''} at {address}
        </Fact>
        <Fact term="Account">
          {identity.username} ({role})
        </Fact>
        {ownToken !== null && (
          <Fact term="Own token">
            expires <When at={ownToken.earliest} />
          </Fact>
        )}
        <IncidentFact place={place} />
        <FindingFact place={place} />
        <TokenFacts place={place} />
        <SettingFacts settings={data.settings} />
      </DescriptionList>
    </>
  );
}

function Fact({ term, children }: { readonly term: string; readonly children: ReactNode }): ReactNode {
  return (
    <DescriptionListGroup>
      <DescriptionListTerm>{term}</DescriptionListTerm>
      <DescriptionListDescription>{children}</DescriptionListDescription>
    </DescriptionListGroup>
  );
}

function IncidentFact({ place }: { readonly place: string }): ReactNode {
  const { data, error } = useRead<IncidentsRead>(query('/api/incidents', { place }));
  const open = data?.incidents.filter(({ state }) => state !== 'lifted') ?? [];
  const broken = open.filter(({ holds, notChecked }) => holds !== true || notChecked.length > 0).length;
  return (
    <Fact term="Incidents">
      {error?.message}
      {data !== undefined && open.length === 0 && 'none open'}
      {open.length > 0 && (
        <Link to={query('/incidents', { place })}>
          {open.length} open{broken > 0 && <Label color="red">{broken} not in effect or not checked</Label>}
        </Link>
      )}
    </Fact>
  );
}

function FindingFact({ place }: { readonly place: string }): ReactNode {
  const { data, error } = useRead<AuditRead>(query('/api/audit', { place }));
  return (
    <Fact term="Findings">
      {data === undefined && error === null && <Spinner size="sm" aria-label="Auditing" />}
      {error?.message}
      {data !== undefined && (
        <Link to={query('/audit', { place })}>
          {number(data.summary.found)}{' '}
          <LabelGroup numLabels={4}>
            {(['critical', 'high', 'medium', 'low'] as const)
              .filter((severity) => (data.summary.bySeverity[severity] ?? 0) > 0)
              .map((severity) => (
                <Severity key={severity} severity={severity} count={data.summary.bySeverity[severity]} />
              ))}
          </LabelGroup>
        </Link>
      )}
    </Fact>
  );
}

function TokenFacts({ place }: { readonly place: string }): ReactNode {
  const [isReading, setReading] = useState(true);
  const { data } = useRead<TokenPage>(query('/api/tokens', { place, limit: 0 }), isReading && 1000);
  const reading = data?.readings[0];
  const stillReading = reading === undefined || reading.state === 'reading';
  if (stillReading !== isReading) setReading(stillReading);
  if (data === undefined) return null;
  return (
    <>
      <Fact term="Tokens">
        <Link to={query('/tokens', { place })}>{number(data.total)}</Link>
        {reading?.state === 'reading' && ' so far'}
        {reading?.problem?.message}
      </Fact>
      <Fact term="Expiry">
        <Bars bars={data.expiry} />
      </Fact>
    </>
  );
}

const SETTINGS: readonly (readonly [string, string])[] = [
  ['AUTH_BASIC_ENABLED', 'basic authentication'],
  ['ALLOW_OAUTH2_FOR_EXTERNAL_USERS', 'tokens of external users'],
];

function SettingFacts({ settings }: { readonly settings: ContextRead['settings'] }): ReactNode {
  if (settings === null) return <Fact term="Settings">not readable with this account</Fact>;
  return (
    <Fact term="Settings">
      {SETTINGS.map(([key, name]) => (
        <Label key={key} color={settings[key] === true ? 'orange' : 'green'}>
          {name} {settings[key] === true ? 'on' : 'off'}
        </Label>
      ))}
    </Fact>
  );
}
