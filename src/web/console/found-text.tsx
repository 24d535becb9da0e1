/** What an investigation found, in words: how much, what became of it since, and what it cannot know. */
import './case.css';
import type { ReactNode } from 'react';
import { countText, numberText } from '../shared/times.tsx';
import type { InvestigationRead, Item } from './case-stages.ts';
import { When, WithTimes } from './parts.tsx';

/** What the investigation cannot know, the weightiest first. */
export function Limits({
  found: {
    unknowns: { groups, unattributedCount, ours },
  },
}: {
  readonly found: InvestigationRead;
}): ReactNode {
  if (groups.length === 0 && ours === 0) return null;
  return (
    <details className="evidence">
      <summary>
        What is not known
        {unattributedCount > 0 &&
          `: ${countText(unattributedCount, 'entry', 'entries')} about access without an actor, and more`}
      </summary>
      {groups.map(({ title, texts }) => (
        <section key={title} aria-label={title}>
          <p className="title">{title}</p>
          <ul>
            {texts.map((text) => (
              <li key={text}>
                <WithTimes text={text} />
              </li>
            ))}
          </ul>
        </section>
      ))}
      {ours > 0 && (
        <p className="hint">
          Known: {countText(ours, 'entry', 'entries')} about access without an actor{' '}
          {ours === 1 ? 'is' : 'are'} tokenctl's own, by its audit log.
        </p>
      )}
    </details>
  );
}

/** How many items were found, and when; and what became of them since, each counted once. */
export function FoundText({
  found: { items, total, madeAt },
  at,
}: {
  readonly found: InvestigationRead;
  /** When the marks and cleanings since were read; null where there are none. */
  readonly at: string | null;
}): ReactNode {
  const stolen = items.filter(({ isStolen }) => isStolen);
  const fates = Map.groupBy(
    items.filter(({ isStolen }) => !isStolen),
    ({ fate }) => fate,
  );
  const over = fates.get('honest')?.filter((item) => !item.isStillThere).length ?? 0;
  const parts = FATES.flatMap(([fate, text]) => {
    const count = fates.get(fate)?.length ?? 0;
    const more = fate === 'honest' && over > 0 ? ` (${numberText(over)} of them gone or undone)` : '';
    return count === 0 ? [] : [`${numberText(count)} ${text}${more}`];
  });
  return (
    <>
      Found <When at={madeAt} />: {countText(total - stolen.length, 'item')}
      {stolen.length > 0 && ', beside the stolen token'}.{' '}
      {parts.length > 0 && (
        <>
          {at === null ? (
            'At that time'
          ) : (
            <>
              As of <When at={at} />, by what was marked and cleaned since
            </>
          )}
          : {parts.join(', ')}.
        </>
      )}{' '}
      {stolen.some(({ remains }) => remains) && (
        <strong>The stolen token is still there, or was not checked.</strong>
      )}
    </>
  );
}

const FATES: readonly (readonly [fate: Item['fate'], text: string])[] = [
  ['remains', 'to clean or to mark'],
  ['seen_again', 'done by hand as somebody said, and found again or not checked'],
  ['by_hand', 'dealt with by hand, not checked'],
  ['handed_over', 'handed over'],
  ['honest', 'marked as honest'],
  ['cleaned', 'cleaned and verified'],
  ['over', 'gone, undone or finished'],
];

/** What the owner of a stolen token did before there was that token. */
export function OwnersWork({
  found: { beforeToken },
}: {
  readonly found: Pick<InvestigationRead, 'beforeToken'>;
}): ReactNode {
  if (beforeToken === null) return null;
  const { madeAt, count, items, isWhole } = beforeToken;
  return (
    <>
      <h3>The owner's own work</h3>
      <p>
        From before the stolen token was made, <When at={madeAt} />; taken for the owner's own work:{' '}
        {countText(count, 'item')}. {count > 0 && 'No cleaning takes them. '}
        {!isWhole && 'More was done than was read.'}
      </p>
      {items.length > 0 && (
        <ul aria-label="The owner's own work">
          {items.map(({ id, summary, first }) => (
            <li key={id}>
              {summary}, <When at={first} />
            </li>
          ))}
          {count > items.length && <li>and {numberText(count - items.length)} more, in the file</li>}
        </ul>
      )}
    </>
  );
}
