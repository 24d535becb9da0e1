/** The data of one controller in full, and its facts in a line. */
import { DescriptionList, Label, Spinner } from '@patternfly/react-core';
import { countText, numberText, unbroken } from '@tokenctl/common/web/times.tsx';
import { lazy, type ReactNode, Suspense } from 'react';
import { Link } from 'react-router';
import { type ContextRead, type ControllerRead, query } from '../api.ts';
import { type ControllerState, type Need, type Sweep, settingsIn } from '../needs.ts';
import { Fact, LinkedLabel, Message, Panel, RunState, Said, Severity, When } from '../parts.tsx';

/** Folded, and so not part of the first view. */
const Calendar = lazy(async () => ({ default: (await import('./calendar.tsx')).Calendar }));

export function ControllerCard(props: {
  readonly state: ControllerState;
  /** Whether it is the only one: the tiles above, about all controllers, are then about it. */
  readonly isAlone: boolean;
}): ReactNode {
  const { state, isAlone } = props;
  const { read } = state;
  const { place, context } = read;
  const { value, problem, waits } = context;
  return (
    <Panel label={place} title={place}>
      {problem !== null && (
        <Message variant="danger" title={problem.message}>
          {problem.hint !== null && <Said text={problem.hint} />}
        </Message>
      )}
      {waits !== null && (
        <p>
          <Spinner size="md" aria-label={`Reading ${place}`} /> No response for {unbroken(`${waits} s`)}.
        </p>
      )}
      {value !== null && <ControllerFacts value={value} state={state} isAlone={isAlone} />}
    </Panel>
  );
}

function roleText({ identity, credential }: ContextRead): string {
  if (credential === 'database_role') return 'database role';
  if (identity.isSuperuser) return 'superuser';
  return identity.isSystemAuditor ? 'system auditor' : 'user';
}

function ControllerFacts(props: {
  readonly value: ContextRead;
  readonly state: ControllerState;
  readonly isAlone: boolean;
}): ReactNode {
  const { value, isAlone } = props;
  const { read, sweep } = props.state;
  const { others, audit, incidents } = read;
  const { address, dialect, product, identity, warnings, ownToken, incomplete } = value;
  const role = roleText(value);
  const calendar = audit.value?.calendar;
  // For other accounts, the warnings say it.
  const isOver = identity.isSuperuser || identity.isSystemAuditor;
  return (
    <>
      {incomplete !== null && isOver && <Message isPlain variant="warning" title={incomplete} />}
      {warnings.map((warning) => (
        <Message key={warning} isPlain variant="warning" title={warning} />
      ))}
      <FactList>
        {(!isAlone || incidents.problem !== null) && (
          <Fact term="Incidents">
            <IncidentsText read={read} />
          </Fact>
        )}
        <Fact term="Findings">
          <Findings read={read} />
        </Fact>
        <TokenFact read={read} />
        {sweep !== null && (
          <Fact term="Last sweep">
            <SweepText sweep={sweep} />
          </Fact>
        )}
      </FactList>
      <details>
        <summary>{settingsTitle(value.settings)}</summary>
        <FactList>
          <SettingFacts read={value} />
          <Fact term="Departed users">
            {value.directories.map((line) => (
              <div key={line}>{line}</div>
            ))}
          </Fact>
        </FactList>
      </details>
      <details>
        <summary>
          As {identity.username} ({role}){others.length > 0 && `, also through ${others.join(', ')}`}
        </summary>
        <FactList>
          <Fact term="Target">
            {dialect} {product ?? ''} at {address}
          </Fact>
          {others.length > 0 && <Fact term="Also">the same controller through {others.join(', ')}</Fact>}
          {audit.value?.kinds != null && (
            <Fact term="Tokens">
              {numberText(audit.value.kinds.personal)} personal,{' '}
              {numberText(audit.value.kinds.ofApplications)} of applications
            </Fact>
          )}
          {ownToken !== null && (
            <Fact term="Own token">
              expires <When at={ownToken.earliest} />
            </Fact>
          )}
        </FactList>
      </details>
      {calendar != null && (
        <Suspense>
          <Calendar picture={calendar} />
        </Suspense>
      )}
    </>
  );
}

function FactList({ children }: { children: ReactNode }): ReactNode {
  return (
    <DescriptionList
      className="facts"
      isHorizontal
      isCompact
      horizontalTermWidthModifier={{ default: '6rem' }}
      columnModifier={{ xl: '2Col' }}
    >
      {children}
    </DescriptionList>
  );
}

/** Why a controller needs attention, each with a link. */
export function Needs({ state: { read, sweep, needs } }: { state: ControllerState }): ReactNode {
  if (needs.length > 0) {
    return (
      <span className="labels">
        {needs.map((need) => (
          <NeedLabel key={need.text} need={need} />
        ))}
      </span>
    );
  }
  return isPending(read) || sweep === undefined ? 'still reading' : 'Nothing found.';
}

export function NeedLabel({ need: { text, isGrave, to } }: { need: Need }): ReactNode {
  return (
    <LinkedLabel to={to} color={isGrave ? 'red' : 'orange'}>
      {text}
    </LinkedLabel>
  );
}

/** Whether any part of it has not answered yet. */
export function isPending({ context, incidents, audit }: ControllerRead): boolean {
  return [context, incidents, audit].some(({ waits }) => waits !== null);
}

/** The open incidents of a controller, with their problems. */
export function IncidentsText({ read }: { read: ControllerRead }): ReactNode {
  const { place, incidents } = read;
  const { value, problem } = incidents;
  if (problem !== null) return `not read: ${problem.message}`;
  if (value === null) return incidents.waits === null ? 'not read' : 'reading';
  const { open } = value;
  if (open.length === 0)
    return <span className="whole">{value.isUnread ? 'none open in the audit log' : 'none open'}</span>;
  const broken = open.filter(({ holds }) => holds === false).length;
  const unchecked = open.filter(({ holds, unchecked: ways }) => holds === null || ways > 0).length;
  const to = query('/incidents', { place });
  return (
    <span className="labels">
      <Link to={to}>{numberText(open.length)} open</Link>
      {broken > 0 && (
        <LinkedLabel to={to} color="red">
          {numberText(broken)} not in effect
        </LinkedLabel>
      )}
      {unchecked > 0 && (
        <LinkedLabel to={to} color="orange">
          {numberText(unchecked)} not fully checked
        </LinkedLabel>
      )}
    </span>
  );
}

const ALL = ['critical', 'high', 'medium', 'low'] as const;

/** The audit's findings, by severity. */
export function Findings({
  read: { place, audit },
  severities = ALL,
}: {
  read: ControllerRead;
  severities?: readonly (typeof ALL)[number][];
}): ReactNode {
  const { value, problem, waits } = audit;
  if (problem !== null) return `not audited: ${problem.message}`;
  if (value === null) return waits === null ? 'not read' : 'reading';
  const { found, bySeverity, notChecked, incomplete } = value;
  return (
    <span className="labels">
      <Link to={query('/audit', { place })}>{numberText(found)} findings</Link>
      {severities
        .filter((severity) => (bySeverity[severity] ?? 0) > 0)
        .map((severity) => (
          <Severity
            key={severity}
            severity={severity}
            count={bySeverity[severity]}
            to={query('/audit', { place, severity })}
          />
        ))}
      {(notChecked > 0 || incomplete !== null) && <span>{missingText(notChecked, incomplete !== null)}</span>}
    </span>
  );
}

/** What an audit did not check. */
function missingText(rules: number, isIncomplete: boolean): string {
  return [
    rules > 0 && `${countText(rules, 'rule')} not checked`,
    isIncomplete && 'not all tokens have been read',
  ]
    .filter(Boolean)
    .join(', ');
}

/** The last run of the job that revokes by the policy. */
export function SweepText(props: {
  /** Null without such a job; undefined while unknown. */
  readonly sweep: Sweep | null | undefined;
  readonly isShort?: boolean;
}): ReactNode {
  const { sweep, isShort = false } = props;
  if (sweep === undefined) return '';
  if (sweep === null) return isShort ? 'no job' : 'No sweep is scheduled.';
  const { name, last } = sweep;
  if (last === null) {
    return isShort ? (
      <Link to="/jobs">never run</Link>
    ) : (
      <>
        <Link to="/jobs">{name}</Link> never run
      </>
    );
  }
  return (
    <>
      <RunState run={last} />{' '}
      <Link to="/jobs">
        <When at={last.began} />
      </Link>
      {!isShort && `: ${last.message}`}
    </>
  );
}

function TokenFact({ read: { place, audit } }: { read: ControllerRead }): ReactNode {
  const { value } = audit;
  if (value === null) return null;
  const { tokensRead, at } = value;
  return (
    <Fact term="Tokens">
      <Link to={query('/tokens', { place })}>{numberText(tokensRead)}</Link>, as of <When at={at} />
    </Fact>
  );
}

/** Shown instead of the settings until they are unfolded. */
function settingsTitle(settings: ContextRead['settings']): string {
  const weak = settingsIn(settings)?.filter(({ isGood }) => !isGood).length;
  if (weak === undefined) return 'Settings (not read), departed users';
  return weak === 0 ? 'Settings, departed users' : `Settings (${weak} weak), departed users`;
}

function SettingFacts({
  read: { settings, settingsProblem },
}: {
  read: Pick<ContextRead, 'settings' | 'settingsProblem'>;
}): ReactNode {
  return (
    <Fact term="Settings">
      <span className="labels">
        {settingsIn(settings)?.map(({ text, isGood }) => (
          <Label key={text} color={isGood ? 'green' : 'orange'}>
            {text}
          </Label>
        )) ?? `not read: ${settingsProblem?.message}`}
      </span>
    </Fact>
  );
}

type Expiring = NonNullable<NonNullable<ControllerRead['audit']['value']>['expiring']>;

/** Number of tokens that expire in the coming month, linked to their list. */
export function ExpiringLink(props: {
  readonly expiring: readonly Expiring[];
  readonly place?: string | undefined;
}): ReactNode {
  const { expiring, place } = props;
  const count = expiring.reduce((sum, { month }) => sum + month, 0);
  const text = countText(count, 'token');
  const last = expiring
    .flatMap(({ until }) => until ?? [])
    .toSorted()
    .at(-1);
  if (count === 0 || last === undefined) return text;
  // That day is not counted.
  const expiresBefore = new Date(Date.parse(last) - 1).toISOString();
  return <Link to={query('/tokens', { place, expiry: 'live', expiresBefore })}>{text}</Link>;
}
