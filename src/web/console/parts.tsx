/** Parts that the first page of the console shares with others. */
import {
  Alert,
  type AlertProps,
  Card,
  CardBody,
  CardTitle,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
  Label,
  type LabelProps,
} from '@patternfly/react-core';
import { WithCode } from '@tokenctl/common/web/code.tsx';
import { withBreaks } from '@tokenctl/common/web/table.tsx';
import { numberText, Time } from '@tokenctl/common/web/times.tsx';
import { Fragment, type ReactNode } from 'react';
import { Link } from 'react-router';
import type { Operation, Problem } from './api.ts';

/** A chart of horizontal bars; they can be chosen if `onChoose` is given. */
export function Bars(props: {
  readonly title?: string;
  /** What the bars count, in the plural. */
  readonly unit?: string;
  readonly bars: readonly {
    readonly label: string;
    readonly count: number;
    readonly isChosen?: boolean;
    /** A page that it links to, instead of being chosen. */
    readonly to?: string;
  }[];
  readonly onChoose?: (index: number) => void;
}): ReactNode {
  const { title, unit, bars, onChoose } = props;
  const most = Math.max(1, ...bars.map(({ count }) => count));
  if (bars.length === 0) return null;
  return (
    <div className="bars">
      {title !== undefined && <ChartTitle title={title} unit={unit} />}
      <ul>
        {bars.map(({ label, count, isChosen = false, to }, index) => (
          <li key={label}>
            <BarRow
              isChosen={isChosen}
              to={to}
              onChoose={onChoose === undefined ? undefined : () => onChoose(index)}
            >
              <Bar label={label} count={count} unit={unit} width={(100 * count) / most} />
            </BarRow>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The title of a chart, and what it counts. */
export function ChartTitle({ title, unit }: { title: string; unit: string | undefined }): ReactNode {
  return (
    <h2>
      {title} {unit !== undefined && <span className="unit">{unit}</span>}
    </h2>
  );
}

function BarRow(props: {
  readonly isChosen: boolean;
  readonly to: string | undefined;
  readonly onChoose: (() => void) | undefined;
  readonly children: ReactNode;
}): ReactNode {
  const { isChosen, to, onChoose, children } = props;
  if (to !== undefined) {
    return (
      <Link to={to} className="bar-row">
        {children}
      </Link>
    );
  }
  if (onChoose === undefined) return <div className="bar-row">{children}</div>;
  return (
    <button type="button" className="bar-row" aria-pressed={isChosen} onClick={onChoose}>
      {children}
    </button>
  );
}

/** The minimum width of a bar in percent, so that small values stay visible. */
const LEAST_WIDTH = 2;

/** A bar with its label and its number, for a row of a chart. */
export function Bar(props: {
  readonly label: string;
  readonly count: number;
  readonly unit: string | undefined;
  /** In percent. */
  readonly width: number;
}): ReactNode {
  const { label, count, unit, width } = props;
  return (
    <>
      <span className="bar-label" title={label}>
        {label}
      </span>
      <svg className="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        <rect width={count > 0 ? Math.max(width, LEAST_WIDTH) : 0} height="10" />
      </svg>
      <span className="bar-count">
        {numberText(count)}{' '}
        {unit !== undefined && (
          <span className="pf-v6-screen-reader">{count === 1 ? unit.replace(/s$/, '') : unit}</span>
        )}
      </span>
    </>
  );
}

/** A point in time in the viewer's zone; by default "never" without one. */
export function When({
  at,
  ...props
}: {
  at: string | null | undefined;
  none?: string;
  withSeconds?: boolean;
}) {
  return <Time none="never" {...props} value={at} />;
}

/** Excludes values of flags, which are meant to be typed, and quoted names. */
const TIMES = /(?<!["'\w]|--[\w-]+[ =])(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z)/;

/** A text with its times in the viewer's zone. Names of settings may break between their parts. */
export function WithTimes({ text, withSeconds = false }: { text: string; withSeconds?: boolean }): ReactNode {
  return text.split(TIMES).map((part, place) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay where they are
    <Fragment key={place}>
      {place % 2 === 0 ? withBreaks(part) : <When at={part} withSeconds={withSeconds} />}
    </Fragment>
  ));
}

/** A text of the program, with its commands marked and its times in the viewer's zone. */
export function Said({ text }: { text: string }): ReactNode {
  return <WithCode text={text} plain={(part) => <WithTimes text={part} />} />;
}

const COLORS = { critical: 'red', high: 'orangered', medium: 'orange', low: 'grey' } as const;

/** The severity of findings, with their number and a link if given. */
export function Severity(props: {
  readonly severity: string;
  readonly count?: number | undefined;
  readonly to?: string;
}): ReactNode {
  const { severity, count, to } = props;
  const color = COLORS[severity as keyof typeof COLORS] ?? 'grey';
  const text = count === undefined ? severity : `${numberText(count)} ${severity}`;
  if (to === undefined) return <Label color={color}>{text}</Label>;
  return (
    <LinkedLabel to={to} color={color}>
      {text}
    </LinkedLabel>
  );
}

/** A label that links to its subject. */
export function LinkedLabel(
  props: Pick<LabelProps, 'color' | 'children'> & { readonly to: string },
): ReactNode {
  const { to, ...label } = props;
  return (
    <Link to={to} className="linked-label">
      <Label {...label} />
    </Link>
  );
}

const RUN_COLORS: Readonly<Record<string, 'green' | 'red' | 'orange' | 'blue' | 'grey'>> = {
  completed: 'green',
  failed: 'red',
  interrupted: 'orange',
  lost: 'red',
  running: 'blue',
};

export function RunState(props: {
  readonly run: { readonly state: string; readonly isDryRun: boolean; readonly kind: string };
}): ReactNode {
  const { run } = props;
  return (
    <>
      <Label color={RUN_COLORS[run.state] ?? 'grey'}>{run.state}</Label>{' '}
      <span className="whole">
        {[run.isDryRun && 'dry run', run.kind === 'manual' && 'by hand'].filter(Boolean).join(', ')}
      </span>
    </>
  );
}

/** Colors for the result of a change or a run. */
export const END_COLORS: Readonly<Record<string, 'green' | 'orange' | 'red' | 'grey'>> = {
  done: 'green',
  partly: 'orange',
  refused: 'red',
  interrupted: 'orange',
  unfinished: 'red',
  noted: 'grey',
  asking: 'orange',
  working: 'orange',
  not_read: 'orange',
  failed: 'red',
};

/** The result of a change, in the terms of the audit log. */
export function outcomeText(outcome: Operation['outcome']): string {
  if (outcome === 'not_read') return 'result not read';
  return outcome === 'partly' ? 'partly done' : (outcome ?? 'done');
}

/** A message in place. Its title is not a heading, which would appear in the page's outline. */
export function Message({ title, ...props }: AlertProps): ReactNode {
  const said = typeof title === 'string' ? <WithTimes text={title} /> : title;
  return <Alert isInline component="p" title={said} {...props} />;
}

/** Why something failed; empty if it did not. */
export function Failure({ error }: { error: Error | null }): ReactNode {
  return error !== null && <Message isLiveRegion variant="danger" title={error.message} />;
}

/** A section of a page as a card, under its title. */
export function Panel(props: {
  readonly title: ReactNode;
  /** The accessible name of the section. */
  readonly label: string;
  readonly className?: string;
  readonly children: ReactNode;
}): ReactNode {
  const { title, label, className = '', children } = props;
  return (
    <Card component="section" aria-label={label}>
      <CardTitle component="h2">{title}</CardTitle>
      <CardBody className={className}>{children}</CardBody>
    </Card>
  );
}

/** One message for all of a kind: separate boxes would push the main content out of view. */
export function OneMessage(props: {
  readonly variant: 'danger' | 'warning';
  /** What several have in common. */
  readonly title: string;
  /** Each with what to do about it, if known. */
  readonly texts: readonly (string | readonly [text: string, hint: string | null | undefined])[];
}): ReactNode {
  const { variant, title, texts } = props;
  const pairs = texts.map((each) => (typeof each === 'string' ? ([each, null] as const) : each));
  const [only, ...others] = pairs;
  if (only === undefined) return null;
  if (others.length === 0) {
    return (
      <Message variant={variant} title={only[0]}>
        {only[1] != null && <Said text={only[1]} />}
      </Message>
    );
  }
  return (
    <Message variant={variant} title={title}>
      <ul className="reasons">
        {pairs.map(([text, hint]) => (
          <li key={text}>
            {text} {hint != null && <Said text={hint} />}
          </li>
        ))}
      </ul>
    </Message>
  );
}

/** The contexts missing from a list: otherwise, a total would look complete. */
export function NotInList(props: {
  readonly readings: readonly {
    readonly place: string;
    readonly problem: Problem | null;
    readonly waits?: number | null;
  }[];
}): ReactNode {
  const { readings } = props;
  const waiting = readings.filter(({ waits }) => waits != null).map(({ place }) => place);
  const failed = readings.flatMap(({ place, problem }) => (problem === null ? [] : { place, problem }));
  return (
    <>
      {waiting.length > 0 && (
        <p role="status">Still reading {waiting.join(', ')}. Items from there are not in this list.</p>
      )}
      <OneMessage
        variant="danger"
        title={`${numberText(failed.length)} contexts are not in this list`}
        texts={failed.map(({ place, problem: { message, hint } }) => [
          `${place}: ${failed.length === 1 ? 'not in this list. ' : ''}${message}`,
          hint,
        ])}
      />
    </>
  );
}

/** A fact in a description list. */
export function Fact({ term, children }: { term: string; children: ReactNode }): ReactNode {
  return (
    <DescriptionListGroup>
      <DescriptionListTerm>{term}</DescriptionListTerm>
      <DescriptionListDescription>{children}</DescriptionListDescription>
    </DescriptionListGroup>
  );
}
