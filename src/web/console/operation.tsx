/** One change from its plan to its report, in a dialog that can be closed and opened again at any time. */

import {
  Button,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  Progress,
  Spinner,
  Stack,
  StackItem,
} from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { Link } from 'react-router';
import type { LiftJson } from '../../cli/incident/lift-flow.ts';
import type { RevocationJson } from '../../cli/revocation/revocation-flow.ts';
import { call, type Json, type Operation, query, useOperation } from './api.ts';
import { ProblemAlert } from './begin.tsx';
import { NextStep } from './case/next-step.tsx';
import { NotOverAfter, OtherLockdowns } from './case/not-over.tsx';
import { CommandLine } from './commands.tsx';
import { ConfirmForm } from './confirm-form.tsx';
import { DocumentView, Report } from './document.tsx';
import { Message, outcomeText, WithTimes } from './parts.tsx';

const TITLES: Readonly<Record<Operation['state'], string>> = {
  planning: 'planning',
  asking: 'confirm the plan',
  working: 'in progress',
  done: 'result',
  failed: 'not applied',
  canceled: 'canceled',
};

const BODY = 'operation-body';

export function OperationDialog({ id, onClose }: { id: string; onClose: () => void }): ReactNode {
  const { operation, isLost, error } = useOperation(id);
  const queries = useQueryClient();
  const state = operation?.state;
  useEffect(() => {
    // What was read before the change is outdated.
    if (state === 'done' || state === 'failed') void queries.invalidateQueries();
    // The focused element disappeared with the stage: moves the focus to the dialog.
    if (document.activeElement === document.body) document.getElementById(BODY)?.focus();
  }, [state, queries]);
  useEffect(
    () => () => {
      // The button that led here may disappear with its form, or with its rows after a refresh: moves the
      // focus to the page.
      let frames = 120;
      const keepFocus = () => {
        if (document.activeElement === document.body)
          document.querySelector('main')?.focus({ preventScroll: true });
        else if (--frames > 0) requestAnimationFrame(keepFocus);
      };
      requestAnimationFrame(keepFocus);
    },
    [],
  );
  const title = operation === null ? 'A change' : titleOf(operation);
  return (
    <Modal isOpen variant="large" onClose={onClose} aria-labelledby="operation-title">
      <ModalHeader title={title} labelId="operation-title" />
      <ModalBody id={BODY} tabIndex={0} aria-label="The operation">
        <Stack hasGutter>
          {isLost && (
            <StackItem>
              <Message
                isLiveRegion
                variant="warning"
                title="The connection to the console is lost. The confirmed change continues, and this page will look for it."
              />
            </StackItem>
          )}
          {error !== null && (
            <StackItem>
              <Message variant="danger" title={error.message} />
            </StackItem>
          )}
          {operation === null ? (
            error === null && <Spinner aria-label="Loading" />
          ) : (
            <Stage operation={operation} />
          )}
        </Stack>
      </ModalBody>
      <ModalFooter>{operation !== null && <Actions operation={operation} onClose={onClose} />}</ModalFooter>
    </Modal>
  );
}

/** The change in words, and its progress. */
function titleOf({ kind, place, state, asked, isInPart }: Operation): string {
  const what = kind === 'incident lift' ? liftTitle(asked) : (KINDS[kind] ?? kind);
  const asking = state === 'asking' ? (asked?.lift?.stays ?? null) : null;
  const step = asking ?? (state === 'failed' && isInPart ? 'partly applied' : TITLES[state]);
  return `${what}${place === null ? '' : ` at ${place}`}: ${step}`;
}

/** A lift closes the case, or restores later what it left. */
function liftTitle(asked: Operation['asked']): string {
  if (asked === null) return 'The case';
  if (asked.lift?.givesBack === true) return 'Restore access';
  return asked.lift?.stays == null ? 'Lift the lockdown and close the case' : 'Close the case';
}

const KINDS: Readonly<Record<string, string>> = {
  'tokens revoke': 'Revoke tokens',
  'incident lockdown': 'Lock down',
  'incident extend': 'Change when a lockdown ends',
  'incident clean': 'Clean up',
  'jobs run': 'Dry run of a job',
  'tokens leases': 'Change the end of a token',
};

const SAYS_ITSELF: ReadonlySet<string> = new Set(['incident lockdown', 'incident clean']);

function Stage({ operation }: { operation: Operation }): ReactNode {
  const { state, asked, progress, result, outcome, failure, command, notices } = operation;
  return (
    <>
      {notices.map((notice) => (
        <StackItem key={notice}>
          <Message isPlain variant="warning" title={notice} />
        </StackItem>
      ))}
      {failure !== null && state !== 'canceled' && (
        <StackItem>
          <ProblemAlert problem={failure} />
        </StackItem>
      )}
      {state === 'planning' && (
        <StackItem>
          <Spinner size="md" aria-label="Planning" /> Reading what would change. Nothing is changed.
        </StackItem>
      )}
      {state === 'canceled' && (
        <StackItem>
          <Message variant="info" title={failure?.message ?? 'Canceled. Nothing was changed.'} />
        </StackItem>
      )}
      {state === 'asking' && asked !== null && <PlanItem asked={asked} />}
      {state === 'working' && (
        <StackItem>
          <Progress
            title={
              progress === null
                ? 'Working'
                : `${progress.verb}: ${progress.done} of ${progress.total}${progress.failed > 0 ? `, ${progress.failed} failed` : ''}`
            }
            value={progress === null || progress.total === 0 ? 0 : (100 * progress.done) / progress.total}
            aria-label="Progress"
          />
          <p>Closing this page does not stop the work.</p>
        </StackItem>
      )}
      {result !== null && (
        <StackItem>
          {result.failure !== null ? (
            <ProblemAlert problem={result.failure} />
          ) : (
            // The first line of a lockdown or a cleaning says it itself.
            !(SAYS_ITSELF.has(operation.kind) && outcome === 'done') && (
              <OutcomeMessage operation={operation} />
            )
          )}
        </StackItem>
      )}
      {result !== null && (
        <StackItem>
          <Report ended={result} label="Result">
            <NotOverAfter operation={operation} />
          </Report>
          <SavedPlanLink json={result.json} />
        </StackItem>
      )}
      <StackItem>
        <details>
          <summary>Command</summary>
          <CommandLine command={command} />
        </details>
      </StackItem>
    </>
  );
}

/** The result of a change whose report has no failure, from the audit log. */
function OutcomeMessage({ operation }: { operation: Operation }): ReactNode {
  const { kind, outcome, asked } = operation;
  if (outcome === 'done' && kind === 'incident lift' && asked?.lift?.givesBack !== true)
    return <ClosedMessage operation={operation} />;
  if (outcome === 'done' || outcome === 'noted')
    return <Message isLiveRegion variant="success" title="Done. The text below shows what was checked." />;
  const ended = outcomeText(outcome);
  return (
    <Message
      isLiveRegion
      variant="warning"
      title={
        outcome === 'not_read'
          ? 'The audit log could not be read, so the result of the change is not known. The text below shows what was checked.'
          : `According to the audit log: ${ended}. The text below shows which access paths are open or not checked.`
      }
    />
  );
}

/** What a closing lift left for its users comes first, and then what else is open. */
function ClosedMessage({ operation: { place, result } }: { operation: Operation }): ReactNode {
  const { reports = [] } = (result?.json ?? {}) as Partial<Json<LiftJson>>;
  const closed = reports.map(({ incident }) => incident);
  return (
    <Message isLiveRegion variant="success" title={closedText(reports)}>
      {place !== null &&
        closed.map((incident) => <OtherLockdowns key={incident} {...{ place, incident, closed }} />)}
    </Message>
  );
}

function closedText(reports: Json<LiftJson>['reports']): string {
  const stays = reports.flatMap(({ left }) =>
    left.flatMap(({ what, action, name }) => (what === 'user' && action === 'stays' ? [name] : [])),
  );
  if (stays.length === 0) return 'Case closed. The lockdown is lifted.';
  const who = new Intl.ListFormat('en').format(stays);
  return `Case closed. ${who} ${stays.length === 1 ? 'stays' : 'stay'} deactivated.`;
}

/** A link to the plan that was saved instead of being carried out. */
function SavedPlanLink({ json }: { json: unknown }): ReactNode {
  const { planFile = null } = (json ?? {}) as { readonly planFile?: string | null };
  if (planFile === null) return null;
  return <Link to={query('/plans', { path: planFile })}>Show the saved plan with its approval</Link>;
}

function PlanItem({ asked }: { asked: NonNullable<Operation['asked']> }): ReactNode {
  // Changes without tokens have no such plan.
  const { plan } = (asked.json ?? {}) as Partial<Json<RevocationJson>>;
  return (
    <>
      {plan != null && (
        <StackItem>
          <p>
            Digest of the plan: <code>{plan.digest.slice(0, 12)}</code>
          </p>
        </StackItem>
      )}
      <StackItem>
        <DocumentView parts={asked.document} label="Plan" />
      </StackItem>
      {plan != null && plan.accessPaths.length > 0 && (
        <StackItem>
          <Message variant="warning" title="Still open">
            <ul className="reasons">
              {plan.accessPaths.map(({ path, how }) => (
                <li key={path}>
                  <WithTimes text={how} />
                </li>
              ))}
            </ul>
          </Message>
        </StackItem>
      )}
    </>
  );
}

function Actions({ operation, onClose }: { operation: Operation; onClose: () => void }): ReactNode {
  const { id, state, asked } = operation;
  const cancel = useMutation({
    mutationFn: () => call(`/api/operations/${id}/cancel`, { body: {} }),
    onSuccess: onClose,
  });
  if (state === 'asking' && asked !== null) {
    return <ConfirmForm key={asked.digest} {...{ id, asked }} onCancel={() => cancel.mutate()} />;
  }
  return (
    <>
      <NextStep operation={operation} />
      <Button variant="secondary" onClick={onClose}>
        Close
      </Button>
    </>
  );
}
