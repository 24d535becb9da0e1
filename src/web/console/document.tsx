/** Plans, reports and histories of commands, laid out by content: steps, access paths, facts, counts. */
import './case/case.css';
import { Button, DescriptionList, Label, type LabelProps } from '@patternfly/react-core';
import { PlainTable } from '@tokenctl/common/web/table.tsx';
import { Fragment, type ReactNode, useState } from 'react';
import type { ShownLine, ShownPart } from '../../console/shown-document.ts';
import type { Ended } from './api.ts';
import { CommandLine, Printed } from './commands.tsx';
import { Bars, Fact, Said, WithTimes } from './parts.tsx';

/** The number of lines of a part drawn at first. */
const MOST_LINES = 200;

/** The output of a command: laid out, or verbatim. */
export function Report(props: {
  readonly ended: Pick<Ended, 'document' | 'text'>;
  readonly label: string;
  /** Shown below the outcome, which is the first part. */
  readonly children?: ReactNode;
}): ReactNode {
  const { label, children } = props;
  const { document, text } = props.ended;
  return document === null ? (
    <Printed text={text} label={label} />
  ) : (
    <DocumentView parts={document} label={label}>
      {children}
    </DocumentView>
  );
}

export function DocumentView(props: {
  readonly parts: readonly ShownPart[];
  /** The accessible name of the region. */
  readonly label: string;
  /** The level of its main headings: one below that of its container. */
  readonly headingLevel?: 2 | 3 | 4;
  /** Shown below the first part. */
  readonly children?: ReactNode;
}): ReactNode {
  const { parts, label, headingLevel = 2, children } = props;
  return (
    <section aria-label={label} className="document">
      {parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other name, and stay where they are
        <Fragment key={index}>
          <PartView part={part} headingLevel={headingLevel} />
          {index === 0 && children}
        </Fragment>
      ))}
    </section>
  );
}

function PartView({ part, headingLevel }: { part: ShownPart; headingLevel: 2 | 3 | 4 }): ReactNode {
  switch (part.kind) {
    case 'heading': {
      const Heading = `h${headingLevel + Math.max(0, part.level - 2)}` as 'h2';
      return <Heading>{part.text}</Heading>;
    }
    case 'lines':
      return part.fold === null ? (
        <Lines lines={part.lines} strong={part.strong} />
      ) : (
        <details>
          <summary>{part.fold}</summary>
          <Lines lines={part.lines} strong={part.strong} />
        </details>
      );
    case 'facts':
      return (
        <>
          {part.title !== null && <p className="title">{part.title}</p>}
          <DescriptionList
            isHorizontal
            isCompact
            horizontalTermWidthModifier={{ default: '6.5rem', md: '10rem' }}
          >
            <TextFacts facts={part.facts} />
          </DescriptionList>
        </>
      );
    case 'counts':
      return (
        <>
          <Bars
            {...(part.title !== null && { title: part.title })}
            bars={part.counts.map(({ count, what }) => ({ label: what, count }))}
          />
          {part.rest !== null && <p>{part.rest}</p>}
        </>
      );
    case 'table':
      return (
        <PlainTable<readonly string[]>
          label={part.heads.join(', ')}
          rows={part.rows}
          keyOf={(cells) => part.rows.indexOf(cells)}
          columns={part.heads.map((title, place) => ({
            title,
            show: (cells) => <WithTimes text={cells[place] ?? ''} withSeconds />,
          }))}
        />
      );
    case 'code':
      return part.lines.map((line) => <CommandLine key={line} command={line} />);
  }
}

/** Names and values, within a description list. */
export function TextFacts(props: Pick<Extract<ShownPart, { readonly kind: 'facts' }>, 'facts'>): ReactNode {
  const { facts } = props;
  return facts.map(({ name, values }) => (
    <Fact key={name} term={name}>
      {values.length === 1 ? (
        <Said text={values[0] ?? ''} />
      ) : (
        <ul className="plain">
          {values.map((text) => (
            <li key={text}>
              <Said text={text} />
            </li>
          ))}
        </ul>
      )}
    </Fact>
  ));
}

function Lines({ lines, strong }: { lines: readonly ShownLine[]; strong: boolean }): ReactNode {
  return (
    <div>
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: as above
        <Paragraph key={index} line={line} strong={strong} />
      ))}
    </div>
  );
}

function Paragraph({ line, strong }: { line: ShownLine; strong: boolean }): ReactNode {
  const { text, tone, under } = line;
  const isTitle = strong || under.length > 0;
  return (
    <>
      {text !== '' && (
        <p className={tone === null ? (isTitle ? 'title' : '') : TONES[tone]}>
          <Words line={line} />
        </p>
      )}
      {under.length > 0 && <LineList lines={under} />}
    </>
  );
}

const TONES: Readonly<Record<NonNullable<ShownLine['tone']>, string>> = {
  good: 'tone-good',
  warning: 'tone-warning',
  bad: 'tone-bad',
  strong: 'tone-strong',
  faint: 'tone-faint',
};

function LineList({ lines }: { lines: readonly ShownLine[] }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? lines : lines.slice(0, MOST_LINES);
  const hasMarks = lines.some(({ mark }) => mark !== null);
  const List = lines.every(({ number }) => number !== null) ? 'ol' : 'ul';
  return (
    <>
      {/* Safari takes a list without bullets for no list. */}
      <List role="list" className={hasMarks ? 'marked' : 'plain'}>
        {shown.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a text have no other name, and stay where they are
          <li key={index}>
            {line.mark !== null && <Mark mark={line.mark} />}
            <div>
              {line.cells === null ? <Words line={line} /> : <Cells cells={line.cells} />}
              {line.under.map((each, place) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above
                <p key={place} className="under">
                  <Words line={each} />
                </p>
              ))}
            </div>
          </li>
        ))}
      </List>
      {shown.length < lines.length && (
        <Button variant="link" isInline onClick={() => setWhole(true)}>
          Show all {lines.length} lines
        </Button>
      )}
    </>
  );
}

function Cells({ cells }: { cells: readonly string[] }): ReactNode {
  return cells.map((cell, place) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: columns stay where they are
    <span key={place} className="cell">
      <WithTimes text={cell} withSeconds />
    </span>
  ));
}

const MARKS: Readonly<Record<string, readonly [word: string, color: LabelProps['color']]>> = {
  done: ['done', 'green'],
  'as before': ['as before', 'grey'],
  partly: ['in part', 'orange'],
  failed: ['failed', 'red'],
  'not tried': ['not tried', 'orange'],
  closed: ['closed', 'green'],
  open: ['open', 'red'],
  'not checked': ['not checked', 'orange'],
  left: ['left as it is', 'grey'],
  critical: ['critical', 'red'],
  high: ['high', 'orangered'],
  medium: ['medium', 'orange'],
  low: ['low', 'grey'],
  '-': ['no finding', 'grey'],
};

/** A result or a severity. */
function Mark({ mark }: { mark: string }): ReactNode {
  const [word, color] = MARKS[mark.toLowerCase()] ?? [mark, 'grey'];
  return (
    <Label isCompact color={color} className="mark">
      {word}
    </Label>
  );
}

/** A sentence, and the commands after it, which can be copied. */
function Words({ line }: { line: ShownLine }): ReactNode {
  return (
    <>
      <Said text={line.text} />
      {line.commands.map((command) => (
        <CommandLine key={command} command={command} />
      ))}
    </>
  );
}
