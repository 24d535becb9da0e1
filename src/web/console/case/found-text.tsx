/** The findings of an investigation in words: how much, what happened to it since, and what is unknown. */
import './case.css';
import { countText, numberText } from '@tokenctl/common/web/times.tsx';
import type { ReactNode } from 'react';
import { When, WithTimes } from '../parts.tsx';
import type { InvestigationRead } from './case-stages.ts';

/** What the investigation cannot know, most important first. */
export function Limits({
  found: {
    unknowns: { groups, unattributedCount, ours },
  },
}: {
  found: InvestigationRead;
}): ReactNode {
  if (groups.length === 0 && ours === '') return null;
  return (
    <details className="evidence">
      <summary>
        Unknowns, for the record
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
      {ours !== '' && <p className="hint">{ours}</p>}
    </details>
  );
}

/** Number of items found, and when; and their current states by marks and cleanings, each counted once. */
export function FoundText(props: { readonly found: InvestigationRead }): ReactNode {
  const { items, total, madeAt, notRead, became } = props.found;
  const stolen = items.filter(({ isStolen }) => isStolen);
  return (
    <>
      {notRead.length > 0 && (
        <strong>
          <WithTimes text={notRead.join(' ')} />{' '}
        </strong>
      )}
      <strong>{countText(total - stolen.length, 'item')}</strong> found <When at={madeAt} />
      {became.length > 0 && `: ${became.join(', ')}`}.{' '}
      {stolen.some(({ remains }) => remains) && (
        <strong>The stolen token is still there, or was not checked.</strong>
      )}
    </>
  );
}

/** What the owner of a stolen token did before that token existed. */
export function OwnersWork(props: { readonly found: Pick<InvestigationRead, 'beforeToken'> }): ReactNode {
  const { beforeToken } = props.found;
  if (beforeToken === null) return null;
  const { madeAt, count, items, isWhole } = beforeToken;
  return (
    <details className="evidence">
      <summary>The owner's own work: {countText(count, 'item')} from before the stolen token</summary>
      <p>
        The token was created <When at={madeAt} />. {count > 0 && 'These items cannot be cleaned. '}
        {!isWhole && 'Results truncated.'}
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
