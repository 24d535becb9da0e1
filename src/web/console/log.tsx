/** What was done: the runs of the audit log, and the changes of this console. */

import { Button, Label, PageSection, Toolbar, ToolbarContent, ToolbarItem } from '@patternfly/react-core';
import { useMutation } from '@tanstack/react-query';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import { Code } from '@tokenctl/common/web/code.tsx';
import { PageHeading } from '@tokenctl/common/web/heading.tsx';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { PlainTable } from '@tokenctl/common/web/table.tsx';
import { countText, numberText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import type { Log as Answer } from '../../console/log-records.ts';
import { call, type Json, type Operation, query, saved, useAddress, useRead } from './api.ts';
import { TextSearch } from './commands.tsx';
import { RunDialog } from './log-run.tsx';
import { END_COLORS, Failure, Message, outcomeText, Said, When, WithTimes } from './parts.tsx';

type Run = LogRead['runs'][number];

type Verification = NonNullable<LogRead['verification']>;

type LogRead = Json<Answer>;

/** Prefixes of the names of operations. */
const SUBJECTS = [
  ['', 'About anything'],
  ['tokens', 'tokens'],
  ['incident', 'incidents'],
  ['users', 'users'],
  ['settings', 'settings'],
  ['sessions', 'sessions'],
  ['applications', 'applications'],
  ['plan', 'plans'],
  ['log', 'the audit log itself'],
] as const;

const PERIODS = [
  ['', 'Any time'],
  ['1', 'the last day'],
  ['7', 'the last week'],
  ['30', 'the last 30 days'],
  ['365', 'the last year'],
] as const;
const RUN_STATES = ['done', 'partly', 'refused', 'interrupted', 'unfinished', 'noted'] as const;
const STATES = [
  ['', 'Any state'],
  ...RUN_STATES.map((state) => [state, outcomeText(state)] as const),
] as const;
/** The menus, by parameter of the URL. */
const FILTERS = [
  { name: 'about', label: 'About', options: SUBJECTS },
  { name: 'state', label: 'State', options: STATES },
  { name: 'days', label: 'Period', options: PERIODS },
] as const;
const DAY = 86_400_000;

export function Log(): ReactNode {
  const [search, change] = useAddress();
  const given = (name: string) => search.get(name) ?? '';
  const days = Number(given('days'));
  const since = days > 0 ? new Date(Math.floor(Date.now() / 60_000) * 60_000 - days * DAY).toISOString() : '';
  const read = useRead<LogRead>(
    query('/api/log', { operation: given('about'), state: given('state'), text: given('text'), since }),
  );
  const isNarrowed = ['about', 'state', 'text', 'days'].some((name) => given(name) !== '');
  const [shown, setShown] = useState<string | null>(null);
  return (
    <>
      <PageHeading title="Audit log" />
      <PageSection>
        {read.data !== undefined && <LogState read={read.data} onVerified={() => void read.refetch()} />}
        <Toolbar>
          <ToolbarContent>
            <ToolbarItem className="search">
              <TextSearch
                label="User, context, ticket or ID"
                key={given('text')}
                value={given('text')}
                onChange={(text) => change({ text })}
              />
            </ToolbarItem>
            {FILTERS.map(({ name, label, options }) => (
              <ToolbarItem key={name}>
                <Choice
                  aria-label={label}
                  value={given(name)}
                  options={options}
                  onChange={(value) => change({ [name]: value })}
                />
              </ToolbarItem>
            ))}
          </ToolbarContent>
        </Toolbar>
        <Loaded query={read}>
          {({ runs, searched }) => (
            <>
              {searched !== null && <p>Searched in the newest {numberText(searched)} runs.</p>}
              {runs.length === 0 ? (
                <p>
                  {isNarrowed
                    ? 'No run matches.'
                    : 'The audit log contains no runs yet. Commands and this console record their changes here.'}
                </p>
              ) : (
                <RunTable runs={runs} onShow={setShown} />
              )}
            </>
          )}
        </Loaded>
        {shown !== null && <RunDialog run={shown} onClose={() => setShown(null)} />}
      </PageSection>
    </>
  );
}

function RunTable({ runs, onShow }: { runs: readonly Run[]; onShow: (run: string) => void }): ReactNode {
  return (
    <PlainTable
      label="Runs"
      rows={runs}
      keyOf={({ run }) => run}
      columns={[
        { title: 'Ended', show: ({ ended }) => <When at={ended} /> },
        {
          title: 'State',
          show: ({ state }) => <Label color={END_COLORS[state] ?? 'grey'}>{outcomeText(state)}</Label>,
        },
        { title: 'What', show: ({ sentence }) => <WithTimes text={sentence} /> },
        {
          title: 'Details',
          isAction: true,
          show: ({ run }) => (
            <Button variant="link" aria-label={`Details of run ${run}`} onClick={() => onShow(run)}>
              Run {run.slice(0, 8)}
            </Button>
          ),
        },
      ]}
    />
  );
}

/** How far the log is verified, and when; with a checkpoint to download, or to compare the log with. */
function LogState({ read: { head, verification }, onVerified }: { read: LogRead; onVerified: () => void }) {
  const verify = useMutation({
    mutationFn: (checkpoint: string | undefined) =>
      call<Verification>('/api/log/verification', { body: { checkpoint } }),
    onSuccess: onVerified,
  });
  const sign = useMutation({
    mutationFn: async () => {
      const { checkpoint, size } = await call<{ checkpoint: string; size: number }>('/api/log/checkpoint');
      await saved(new Response(checkpoint), `audit-${size}.checkpoint`);
    },
  });
  const failed = verify.error ?? sign.error;
  return (
    <>
      <VerificationAlert verification={verification} size={head.size} />
      <Failure error={failed} />
      <div className="actions">
        <Button variant="secondary" isLoading={verify.isPending} onClick={() => verify.mutate(undefined)}>
          Verify
        </Button>
        <Button variant="secondary" isLoading={sign.isPending} onClick={() => sign.mutate()}>
          Download a checkpoint
        </Button>
        <label className="file">
          Verify against a checkpoint{' '}
          <input
            type="file"
            onChange={({ target }) => void target.files?.[0]?.text().then((text) => verify.mutate(text))}
          />
        </label>
      </div>
    </>
  );
}

function VerificationAlert({ verification, size }: { verification: Verification | null; size: number }) {
  if (verification === null || verification.verified?.entries === 0) {
    const title =
      size === 0
        ? 'The audit log has no entries.'
        : `${countText(size, 'entry', 'entries')}, not verified since the console started.`;
    return <Message variant="info" title={title} />;
  }
  const { at, verified, unproved, problem } = verification;
  if (verified === null) {
    return (
      <Message isLiveRegion variant="danger" title={problem?.message ?? 'The audit log is broken.'}>
        Verified <When at={at} />. {problem?.hint != null && <Said text={problem.hint} />}
      </Message>
    );
  }
  const { entries, removed, checkpoint, head } = verified;
  const since = size - entries;
  return (
    <Message
      isLiveRegion
      variant="success"
      title={`Intact: each entry from ${numberText((removed ?? 0) + 1)} to ${numberText(entries)} follows from the previous one.`}
    >
      Verified <When at={at} />, head {head.hash.slice(0, 12)}.
      {checkpoint !== undefined &&
        ` Entries 1 to ${numberText(checkpoint.size)} match the checkpoint of ${checkpoint.origin}.`}
      {since > 0 && ` Not verified: ${countText(since, 'entry that was', 'entries that were')} added since.`}
      <p>
        {unproved}
        {checkpoint === undefined &&
          ' A checkpoint that was stored somewhere else can show that. Select it below.'}
      </p>
    </Message>
  );
}

/** The changes that were begun in this console, on any of its pages. */
export function Operations(): ReactNode {
  const read = useRead<{ operations: readonly Operation[] }>('/api/operations', 3_000);
  const [, change] = useAddress();
  return (
    <>
      <PageHeading title="Changes" />
      <PageSection>
        <Loaded query={read}>
          {({ operations }) =>
            operations.length === 0 ? (
              <p>
                No changes were started in this console. The <Link to="/log">audit log</Link> has all others.
              </p>
            ) : (
              <PlainTable
                label="Changes"
                rows={operations}
                keyOf={({ id }) => id}
                columns={[
                  { title: 'Began', show: ({ began }) => <When at={began} /> },
                  {
                    title: 'State',
                    show: ({ state, outcome }) => (
                      <Label color={END_COLORS[outcome ?? state] ?? 'grey'}>
                        {outcome === null ? state : outcomeText(outcome)}
                      </Label>
                    ),
                  },
                  { title: 'Command', show: ({ command }) => <Code text={command} /> },
                  {
                    title: 'Open',
                    isAction: true,
                    show: ({ id, command }) => (
                      <Button
                        variant="link"
                        aria-label={`Open ${command}`}
                        onClick={() => change({ operation: id })}
                      >
                        Open
                      </Button>
                    ),
                  },
                ]}
              />
            )
          }
        </Loaded>
      </PageSection>
    </>
  );
}
