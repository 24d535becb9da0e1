/** What an investigation found, in words: how much, what became of it since, and what it cannot know. */
import './case.css';
import type { ReactNode } from 'react';
import { countText, numberText } from '../../shared/times.tsx';
import { When, WithTimes } from '../parts.tsx';
import type { InvestigationRead, Item } from './case-stages.ts';

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
        What is not known, for the record
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

/** How many items were found, and when; and what became of each by marks and cleanings since, each counted once. */
export function FoundText({
  found: { items, total, madeAt, stream },
  isOfCase = true,
}: {
  readonly found: InvestigationRead;
  /** Whether there is anything to decide about: an investigation without a case only reads. */
  readonly isOfCase?: boolean;
}): ReactNode {
  const stolen = items.filter(({ isStolen }) => isStolen);
  const fates = Map.groupBy(
    items.filter(({ isStolen }) => !isStolen),
    ({ fate }) => fate,
  );
  const parts = FATES.flatMap(([fate, text]) => {
    const count = fates.get(fate)?.length ?? 0;
    // In a case, the list below has the number.
    if (fate === 'remains' && isOfCase) return [];
    const named = fate === 'over' ? `: ${overText(fates.get(fate) ?? [])}` : '';
    return count === 0 ? [] : [`${numberText(count)} ${text}${named}`];
  });
  return (
    <>
      {stream.hole != null && <strong>Not everything was read, and more may remain. {stream.hole} </strong>}
      <strong>{countText(total - stolen.length, 'item')}</strong> found <When at={madeAt} />
      {parts.length > 0 && `: ${parts.join(', ')}`}.{' '}
      {stolen.some(({ remains }) => remains) && (
        <strong>The stolen token is still there, or was not checked.</strong>
      )}
    </>
  );
}

const FATES: readonly (readonly [fate: Item['fate'], text: string])[] = [
  ['remains', 'still there or not checked'],
  ['seen_again', 'done by hand as somebody said, and found again or not checked'],
  ['by_hand', 'done by hand, not checked'],
  ['handed_over', 'handed over'],
  ['honest', 'honest'],
  ['cleaned', 'cleaned and verified'],
  ['over', 'over'],
];

const MOST_NAMED = 5;

/** What is gone, undone or finished, by name. */
function overText(items: readonly Item[]): string {
  const named = items.slice(0, MOST_NAMED).map(({ name, stateText }) => `${name} ${stateText}`);
  const more = items.length - named.length;
  return [...named, ...(more > 0 ? [`and ${numberText(more)} more`] : [])].join(', ');
}

/** What the owner of a stolen token did before there was that token. */
export function OwnersWork({
  found: { beforeToken },
}: {
  readonly found: Pick<InvestigationRead, 'beforeToken'>;
}): ReactNode {
  if (beforeToken === null) return null;
  const { madeAt, count, items, isWhole } = beforeToken;
  return (
    <details className="evidence">
      <summary>The owner's own work: {countText(count, 'item')} from before the stolen token</summary>
      <p>
        The token was made <When at={madeAt} />. {count > 0 && 'No cleaning takes these items. '}
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
    </details>
  );
}
