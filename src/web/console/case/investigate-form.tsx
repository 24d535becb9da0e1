/** Starts an investigation of a case, and lists earlier ones. */
import { Button, Form, Spinner } from '@patternfly/react-core';
import { PlainTable } from '@tokenctl/common/web/table.tsx';
import { countText, numberText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useState } from 'react';
import type { Beginning } from '../../../console/case/lockdown-snapshot.ts';
import { ProblemAlert } from '../begin.tsx';
import { OwnCommand } from '../commands.tsx';
import { NameField, Remark, TextField } from '../fields.tsx';
import { Message, When } from '../parts.tsx';
import { isTokenNumber, TokenField, useSnapshot } from '../theft/stolen-token.tsx';
import type { CaseProps, CaseRead } from './case-stages.ts';
import { beginningAt, INVESTIGATE_FORM, useInvestigate } from './use-investigate.ts';

/** Whether an investigation of the case requires one of several user names. */
function isOfOneOf({ incident: { scope } }: CaseRead): boolean {
  return scope.kind !== 'applications' && !(scope.kind === 'users' && scope.names.length === 1);
}

/** Repeats the last investigation, where it is missed: with the same token or user, and period. */
function InvestigateAgain({ read, place }: CaseProps): ReactNode {
  const investigate = useInvestigate({ place, incident: read.incident.id });
  const last = read.investigations.at(-1);
  const isBusy = investigate.isPending || read.underway?.problem === null;
  const problem = investigate.error ?? read.underway?.problem ?? null;
  if (last === undefined) return null;
  if (isBusy) return <p role="status">Investigating again…</p>;
  const { subject } = last;
  const asked =
    subject.kind === 'token'
      ? { token: subject.id }
      : subject.kind === 'user' && isOfOneOf(read)
        ? { user: subject.name }
        : {};
  return (
    <>
      <p>
        It is older than the last cleanup, so it is not known what remains. An investigation changes nothing.
      </p>
      <Button variant="primary" onClick={() => investigate.mutate({ since: new Date(last.since), asked })}>
        Investigate again
      </Button>
      {problem !== null && <p>It failed: {problem.message}</p>}
    </>
  );
}

/** The start for the field, and the source of that time; null if it was typed or used before. */
function useSince({ read, place }: CaseProps) {
  const beginning = useSnapshot({ place, incident: read.incident.id })?.beginning;
  const [typed, setSince] = useState<string | null>(null);
  const isGiven = typed === null && read.investigations.length === 0;
  return {
    since: typed ?? localValue(beginningOf(read, beginning)),
    setSince,
    is: isGiven ? (beginning?.is ?? null) : null,
  };
}

/** The form. It is read-only: findings are stored in a file of the case. */
export function InvestigateForm({ read, place }: CaseProps): ReactNode {
  const { incident, investigations, underway } = read;
  const last = investigations.at(-1);
  const { scope } = incident;
  const names = scope.kind === 'users' || scope.kind === 'applications' ? scope.names : [];
  // An investigation is about one user; of several, the first is the default.
  const takesUser = isOfOneOf(read);
  const [user, setUser] = useState(last?.subject.kind === 'user' ? last.subject.name : (names[0] ?? ''));
  const [token, setToken] = useState(
    last?.subject.kind === 'token' ? String(last.subject.id) : String(read.theft.token ?? ''),
  );
  const { since, setSince, is } = useSince({ read, place });
  const investigate = useInvestigate({ place, incident: incident.id });
  const isBusy = investigate.isPending || underway?.problem === null;
  const subject = subjectOf({ token, user, takesUser });
  const isReady = !Number.isNaN(Date.parse(since)) && subject !== null;
  const [isTried, setTried] = useState(false);
  return (
    <>
      {last?.isOutdated && <InvestigateAgain read={read} place={place} />}
      {investigations.length > 0 && <Made investigations={investigations} />}
      <Problems error={investigate.error} read={read} />
      {isBusy && <Reading />}
      <details open={takesUser && last === undefined}>
        <summary>
          <Given
            since={since}
            token={token}
            isFirst={last === undefined}
            isMade={is === 'token' && token === String(read.theft.token)}
          />
        </summary>
        <Form
          id={INVESTIGATE_FORM}
          className="narrow"
          onSubmit={(event) => {
            event.preventDefault();
            setTried(true);
            if (isReady && !isBusy) investigate.mutate({ since: new Date(since), asked: subject.asked });
          }}
        >
          {takesUser && token === '' && (
            <NameField
              id="investigate-user"
              label="User to investigate"
              kind="users"
              place={place}
              value={user}
              onChange={setUser}
              isRequired
              isOne
            />
          )}
          {scope.kind === 'users' && (
            <TokenField place={place} incident={incident.id} token={token} onChange={setToken} />
          )}
          <TextField
            id="investigate-since"
            label="Start of the incident"
            type="datetime-local"
            value={since}
            isRequired
            onChange={setSince}
          >
            <Remark>
              {is !== null && BEGINNINGS[is]}In your time zone. Earlier actions are neither listed nor
              cleaned.
            </Remark>
          </TextField>
          {isTried && !isReady && (
            <Message
              isLiveRegion
              variant="danger"
              title="Not started: enter a user and the start of the incident."
            />
          )}
          <div className="buttons">
            <Button type="submit" variant="secondary" isDisabled={!isReady || isBusy} isLoading={isBusy}>
              {last === undefined ? 'Investigate' : 'Investigate again'}
            </Button>
          </div>
          {isReady && (
            <OwnCommand
              words={`incident investigate --incident ${incident.id}${subject.flag} --since ${new Date(since).toISOString()}`}
              place={place}
            />
          )}
        </Form>
      </details>
    </>
  );
}

/** Shown while an investigation is in progress. */
export function Reading(): ReactNode {
  return (
    <p role="status">
      <Spinner size="md" aria-label="Investigating" /> Reading the activity stream. Closing this page does not
      stop it.
    </p>
  );
}

/** The inputs of the next investigation. */
function Given(props: {
  readonly since: string;
  readonly token: string;
  readonly isFirst: boolean;
  /** Whether the time is that of the token. */
  readonly isMade: boolean;
}): ReactNode {
  const { since, token, isFirst, isMade } = props;
  if (!isFirst) return 'Investigate again, also with a different token or time';
  return (
    <>
      Since <When at={Number.isNaN(Date.parse(since)) ? null : new Date(since).toISOString()} none="?" />,
      {isMade ? ' when the' : ''} stolen token {token === '' ? 'not known' : token}
      {isMade && ' was made'}: change
    </>
  );
}

/** Why no investigation was made, at this or the last attempt. */
function Problems({ error, read: { underway } }: { error: Error | null; read: CaseRead }) {
  if (error !== null) return <Message isLiveRegion variant="danger" title={error.message} />;
  const problem = underway?.problem ?? null;
  return problem !== null && <ProblemAlert problem={problem} />;
}

/** The requested subject: a token's owner, a user, or neither if the incident has one. Null if invalid. */
function subjectOf(props: { readonly token: string; readonly user: string; readonly takesUser: boolean }) {
  const { token, user, takesUser } = props;
  if (token !== '')
    return isTokenNumber(token) ? { asked: { token: Number(token) }, flag: ` --token ${token}` } : null;
  if (!takesUser) return { asked: {}, flag: '' };
  return user.trim() === '' ? null : { asked: { user }, flag: ` --user ${user}` };
}

/** The source of a time that was not typed here. */
const BEGINNINGS: Readonly<Record<Beginning['is'], string>> = {
  said: '',
  token: 'The creation time of the stolen token. ',
  'day before': '1 day before the lockdown, because nothing was entered. ',
};

/** The default start: that of the last investigation, or as known from the lockdown. */
function beginningOf({ incident, investigations }: CaseRead, known: Beginning | undefined): Date {
  const said = investigations.at(-1)?.since ?? known?.at;
  return said === undefined ? beginningAt(incident.since) : new Date(said);
}

/** A time in the format of its field: local, to the minute. */
export function localValue(time: Date): string {
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The earlier investigations, newest first. */
export function Made(props: {
  readonly investigations: readonly Omit<CaseRead['investigations'][number], 'isOutdated'>[];
}): ReactNode {
  const { investigations } = props;
  return (
    <PlainTable
      label="Investigations"
      rows={investigations.toReversed()}
      keyOf={({ name }) => name}
      columns={[
        { title: 'Made', show: ({ madeAt }) => <When at={madeAt} /> },
        {
          title: 'Period',
          show: ({ since, until, oldest }) => (
            <>
              <When at={since} /> to <When at={until} />
              {oldest !== null && Date.parse(oldest) > Date.parse(since) && (
                <div className="hint">
                  The activity stream starts <When at={oldest} />: earlier actions are not known.
                </div>
              )}
            </>
          ),
        },
        {
          title: 'Found',
          show: ({ items, entries, subject }) => (
            <>
              {countText(items, 'item')} in {countText(entries, 'entry', 'entries')}
              {subject.kind === 'token' && (
                <div className="hint">
                  Of {subject.user}, whose token {subject.id} was stolen.
                </div>
              )}
            </>
          ),
        },
        {
          title: 'Remained at that time',
          show: ({ found, madeAt }) => (
            <>
              {numberText(found)}, <When at={madeAt} />
            </>
          ),
        },
        { title: 'Context', show: ({ context }) => <span className="schedule">{context}</span> },
      ]}
    />
  );
}
