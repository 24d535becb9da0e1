/** The plan of a lockdown next to its form: the dry run of the command, in full or in a line. */
import { Spinner } from '@patternfly/react-core';
import { countText } from '@tokenctl/common/web/times.tsx';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { LockdownJson } from '../../../cli/incident/lockdown-flow.ts';
import { type Ended, type Json, query } from '../api.ts';
import { ProblemAlert } from '../begin.tsx';
import { CommandLine } from '../commands.tsx';
import { Report } from '../document.tsx';
import { Failure, Message } from '../parts.tsx';
import type { usePlan } from './lockdown-draft.ts';

/** The plan of the current input, as far as it is read. */
export function PlanView(props: {
  readonly place: string;
  readonly planned: ReturnType<typeof usePlan>;
  /** Whether it is folded to a line: before anything is done, all of it is shown for confirmation. */
  readonly isShort: boolean;
  /** Shown below it. */
  readonly children: ReactNode;
}): ReactNode {
  const { place, isShort, children } = props;
  const { isFetching, error, data } = props.planned;
  const plan = planOf(data);
  return (
    <>
      {isFetching && <Spinner size="md" aria-label="Planning" />}
      <Failure error={error} />
      {plan?.continues === true && (
        <Message variant="info" title={`${plan.incident} is already open for it.`}>
          <Link to={query('/case', { place, incident: plan.incident })}>Continue with the case</Link>, or lock
          down again.
        </Message>
      )}
      {data != null && (
        <>
          {data.failure !== null && <ProblemAlert problem={data.failure} />}
          {isShort && plan != null ? (
            <details>
              <summary>Plan: {shortText(data)}</summary>
              <div className="stacked">
                <Report ended={data} label="Plan" />
                <CommandLine command={data.command} />
              </div>
            </details>
          ) : (
            <>
              <Report ended={data} label="Plan" />
              <CommandLine command={data.command} />
            </>
          )}
          {children}
        </>
      )}
    </>
  );
}

function planOf(ended: Ended | undefined): Json<LockdownJson>['plan'] | undefined {
  return ((ended?.json ?? {}) as Partial<Json<LockdownJson>>).plan;
}

/** What the plan ends, in its words for the usual measures, and how much of it cannot be checked. */
function shortText(ended: Ended): string {
  const folds = (ended.document ?? []).flatMap((part) =>
    part.kind === 'lines' && part.fold !== null ? [part.fold] : [],
  );
  const paths = planOf(ended)?.accessPaths ?? [];
  const unchecked = paths.filter(({ state }) => state === 'not_checked').length;
  return [
    folds[0]?.replace(/^./, (first) => first.toLowerCase()) ?? 'several steps',
    ...(unchecked > 0 ? [`${countText(unchecked, 'access path')} not checked`] : []),
  ].join('; ');
}
