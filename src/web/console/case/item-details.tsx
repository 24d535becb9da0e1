/** All that is known of one item of an investigation. */
import { DescriptionList, Label } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { countText } from '../../shared/times.tsx';
import { CommandLine } from '../commands.tsx';
import { Fact, Severity, When, WithTimes } from '../parts.tsx';
import type { Item } from './case-stages.ts';

const STATES: Readonly<
  Record<Item['state'], readonly [word: string, color: 'red' | 'orange' | 'grey' | 'green']>
> = {
  there: ['remains', 'red'],
  running: ['running', 'red'],
  unknown: ['not checked', 'orange'],
  finished: ['finished', 'grey'],
  undone: ['undone', 'grey'],
  changed: ['changed since', 'green'],
  gone: ['gone', 'green'],
};

/** What an item is now, and what people said of it: neither hides the other. */
export function StateLabel({
  item,
  isShort = false,
}: {
  readonly item: Item;
  /** In a narrow column: {@link SeenAgain} stands elsewhere. */
  readonly isShort?: boolean;
}): ReactNode {
  const { state, stateText, fate, cleanedAt, handled, handedOver, mark } = item;
  const honest = mark === null ? '' : ' (honest)';
  if (cleanedAt !== null)
    return (
      <span className="labels inline">
        <Label color="green">cleaned, verified{honest}</Label> <When at={cleanedAt} />
      </span>
    );
  const [known, color] = STATES[state];
  const word = state === 'undone' ? stateText : known;
  if (fate === 'honest')
    return <Label color="blue">{state === 'there' ? 'honest work' : `${word}${honest}`}</Label>;
  if (fate === 'by_hand') return <Label color="orange">by hand, not checked</Label>;
  if (fate === 'handed_over')
    return (
      <>
        <Label color="orange">handed over</Label> <span className="hint">to {handedOver?.to}</span>
      </>
    );
  if (fate === 'seen_again')
    return (
      <>
        <Label color={color}>{foundAgain(item)}</Label>{' '}
        {!isShort && (
          <span className="hint">
            <SeenAgain item={item} />
          </span>
        )}
      </>
    );
  return (
    <Label color={color}>
      {word}
      {handled !== null && ', after it was dealt with by hand'}
    </Label>
  );
}

function foundAgain({ state }: Item): string {
  return state === 'there' ? 'still there' : STATES[state][0];
}

/** What somebody said of an item, beside what the investigation after it found. */
export function SeenAgain({ item }: { readonly item: Item }): ReactNode {
  const { fate, handled, readAt } = item;
  if (fate !== 'seen_again') return null;
  return (
    <>
      marked as done by hand <When at={handled?.at} />, {foundAgain(item)} <When at={readAt} />
    </>
  );
}

/** Tells the stolen token from what was done with it. */
export function StolenLabel({ item }: { readonly item: Pick<Item, 'isStolen'> }): ReactNode {
  return item.isStolen && <Label color="purple">the stolen token, made here</Label>;
}

/** To an object at its controller, with what opens there. */
function ObjectLink({ page: { href, opens } }: { readonly page: NonNullable<Item['page']> }): ReactNode {
  return (
    <>
      <a href={href} target="_blank" rel="noreferrer">
        {opens === 'web' ? 'Open its page in the web interface' : 'Open what the REST API says of it'}
      </a>{' '}
      {opens === 'web'
        ? '(a new tab; you log in there yourself).'
        : '(a new tab; log in to the controller in this browser first).'}
    </>
  );
}

/** The fields of a row, and the characters of their values; the details have more. */
const MOST_FIELDS = 3;
const MAX_VALUE = 60;

/** What a cleaning sets back of an object that it keeps. */
export function SetsBack({ item: { setsBack, changes } }: { readonly item: Item }): ReactNode {
  if (setsBack === null) return null;
  const meant = changes.filter(({ field }) => setsBack.includes(field));
  const more = setsBack.length - Math.min(meant.length, MOST_FIELDS);
  return (
    <div className="hint">
      {meant.slice(0, MOST_FIELDS).map(({ field, hidden, before = null, after = null }, index) => (
        <span key={field}>
          {index > 0 && '; '}
          {field}:{' '}
          {hidden ? 'hidden' : `${cut(after ?? 'not recorded')} → back to ${cut(before ?? 'its default')}`}
        </span>
      ))}
      {more > 0 && `; and ${countText(more, 'more field')}`}
    </div>
  );
}

function cut(text: string): string {
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}…`;
}

const FIELDS: Readonly<Record<Item['changes'][number]['state'], string>> = {
  as_left: '',
  left_in_part: 'changed since by others, in force in part',
  as_before: 'set back',
  changed: 'changed since, not in force',
  not_reviewed: 'changed since by others, not reviewed',
  unknown: 'not checked',
};

export function ItemDetails({ item }: { readonly item: Item }): ReactNode {
  const {
    id,
    risk,
    by,
    first,
    last,
    entryCount,
    stateReason,
    findings,
    changes,
    changedSince,
    job,
    remedy,
    notCleanable,
    page,
  } = item;
  return (
    <DescriptionList
      isCompact
      orientation={{ sm: 'horizontal' }}
      horizontalTermWidthModifier={{ default: '8rem', sm: '8rem' }}
    >
      <Fact term="Now">
        <StateLabel item={item} /> {stateReason !== null && <WithTimes text={stateReason} />}
      </Fact>
      {item.isStolen && (
        <Fact term="Stolen">
          The theft did not begin before this token was made. Making it is not counted as an act of the
          intruder.
        </Fact>
      )}
      <SaidFacts item={item} />
      <Fact term="Risk">{risk === null ? 'no rule finds anything' : <Severity severity={risk} />}</Fact>
      {findings.length > 0 && (
        <Fact term="Because">
          <ul>
            {findings.map(({ rule, message }) => (
              <li key={rule}>{message}</li>
            ))}
          </ul>
        </Fact>
      )}
      <Fact term="By">{by.length === 0 ? 'nobody is recorded' : by.join(', ')}</Fact>
      <Fact term="When">
        <When at={first} />
        {last !== first && (
          <>
            {' '}
            to <When at={last} />
          </>
        )}
        , {countText(entryCount, 'entry', 'entries')} of the activity stream
      </Fact>
      {job !== null && (
        <Fact term="Job">
          {[
            job.status,
            ...(job.hosts === null ? [] : [countText(job.hosts, 'host')]),
            ...(job.credentials.length === 0 ? [] : [`credentials ${job.credentials.join(', ')}`]),
          ].join('; ')}
        </Fact>
      )}
      {changes.length > 0 && (
        <Fact term="Changed">
          <ul>
            {changes.map(({ field, hidden, state, before = null, after = null }) => (
              <li key={field}>
                <code>{field}</code>
                {hidden ? ': hidden' : <Values before={before} after={after} />}
                {item.state === 'gone' || FIELDS[state] === '' ? '' : ` (${FIELDS[state]})`}
              </li>
            ))}
          </ul>
        </Fact>
      )}
      {changedSince.length > 0 && (
        <Fact term="Since then">
          <ul>
            {changedSince.map(({ at, by: other, operation, fields }) => (
              <li key={`${at} ${operation} ${fields.join()}`}>
                {other ?? 'no recorded actor'}, <When at={at} />: {operation} {fields.join(', ')}
              </li>
            ))}
          </ul>
        </Fact>
      )}
      {remedy !== null && (
        <Fact term={REMEDIES[remedy.kind]}>
          {remedy.kind === 'manual' ? remedy.text : <CommandLine command={remedy.text} />}
          {remedy.isUntried && 'Not tried on a controller.'}
        </Fact>
      )}
      {notCleanable !== null && item.remains && (
        <Fact term="By hand">
          A cleaning does not end it{remedy?.text === notCleanable ? '.' : `: ${notCleanable}`}
        </Fact>
      )}
      {page !== null && (
        <Fact term="Controller">
          <ObjectLink page={page} />
        </Fact>
      )}
      <Fact term="Id">
        <code>{id}</code>
      </Fact>
    </DescriptionList>
  );
}

/** What people said of the item, each with why. */
function SaidFacts({ item }: { readonly item: Item }): ReactNode {
  const { mark, handled, handedOver, fate } = item;
  return (
    <>
      {mark !== null && (
        <Fact term="Honest">
          {mark.why !== null && `${mark.why}: `}marked by {mark.by}, <When at={mark.at} />, entry {mark.seq}{' '}
          of the audit log
        </Fact>
      )}
      {handled !== null && (
        <Fact term="By hand">
          {handled.why !== null && `${handled.why}: `}marked as done by {handled.by}, <When at={handled.at} />
          , entry {handled.seq} of the audit log
          {fate === 'by_hand' && '; the next investigation says what it finds'}
        </Fact>
      )}
      {handedOver !== null && (
        <Fact term="Handed over">
          to {handedOver.to} by {handedOver.by}, <When at={handedOver.at} />, entry {handedOver.seq} of the
          audit log{handedOver.why !== null && `: ${handedOver.why}`}
        </Fact>
      )}
    </>
  );
}

/** How the item is ended by a responder; nothing of it was done by the intruder. */
const REMEDIES = { command: 'To end it, run', call: 'To end it, send', manual: 'To end it' } as const;

function Values({
  before,
  after,
}: {
  readonly before: string | null;
  readonly after: string | null;
}): ReactNode {
  if (before === null && after === null) return null;
  return (
    <>
      {before !== null && (
        <>
          {' '}
          from <code>{before}</code>
        </>
      )}
      {after !== null && (
        <>
          {' '}
          to <code>{after}</code>
        </>
      )}
    </>
  );
}
