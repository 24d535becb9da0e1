/** The results of a job by host: host counts and task results, read from its output. */
import {
  Alert,
  Label,
  Pagination,
  Stack,
  StackItem,
  Title,
  Toolbar,
  ToolbarContent,
  ToolbarItem,
} from '@patternfly/react-core';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import { Loading } from '@tokenctl/common/web/states.tsx';
import { type Column, LongText, PlainTable } from '@tokenctl/common/web/table.tsx';
import { type ReactNode, useMemo } from 'react';
import { Link, useSearchParams } from 'react-router';
import { useOutput } from './job-output.tsx';
import {
  type HostSummary,
  hostsOf,
  type Result,
  readPlaybookOutput,
  type TaskResult,
} from './playbook-output.ts';

/** The results with their names and label colors. */
const RESULTS = {
  ok: ['OK', { color: 'green' }],
  changed: ['Changed', { color: 'orange' }],
  failed: ['Failed', { status: 'danger' }],
  unreachable: ['Unreachable', { status: 'danger' }],
  ignored: ['Failed, ignored', { color: 'grey' }],
  rescued: ['Rescued', { color: 'grey' }],
  skipped: ['Skipped', { color: 'blue' }],
} as const satisfies Record<Result, unknown>;

function ResultLabel({ result }: { result: Result }): ReactNode {
  const [name, look] = RESULTS[result];
  return (
    <Label isCompact {...look}>
      {name}
    </Label>
  );
}

/** The filters of the results, which are in the URL. */
const FILTERS = ['host', 'task', 'result'] as const;
type Filters = Readonly<Record<(typeof FILTERS)[number], string>>;

const PAGE_SIZE = 50;

export function Results({ id, isActive }: { id: number; isActive: boolean }): ReactNode {
  const { text, isWhole, problem } = useOutput(id, isActive);
  const output = useMemo(() => readPlaybookOutput(text), [text]);
  if (problem !== null) return <Alert isInline variant="warning" component="p" title={problem} />;
  if (!isWhole && text === '') return <Loading />;
  const hosts = hostsOf(output).toSorted((one, other) => Number(isBad(other)) - Number(isBad(one)));
  if (hosts.length === 0) {
    return <p>{isActive ? 'No task has run yet.' : 'The output contains no hosts because no task ran.'}</p>;
  }
  return (
    <Stack hasGutter>
      <StackItem>
        <Title headingLevel="h2">Hosts</Title>
        <PlainTable label="hosts" columns={hostColumns(id)} rows={hosts} keyOf={({ host }) => host} />
      </StackItem>
      <StackItem>
        <Title headingLevel="h2">Task results</Title>
        <TaskResults id={id} results={output.results} />
      </StackItem>
    </Stack>
  );
}

/** Whether a host is shown first. */
function isBad({ result }: HostSummary): boolean {
  return result === 'failed' || result === 'unreachable';
}

function hostColumns(id: number): readonly Column<HostSummary>[] {
  return [
    {
      title: 'Host',
      show: ({ host }) => <Link to={`/jobs/${id}/results?host=${encodeURIComponent(host)}`}>{host}</Link>,
    },
    { title: 'Worst result', show: ({ result }) => <ResultLabel result={result} /> },
    { title: 'OK', show: ({ counts }) => counts.ok },
    { title: 'Changed', show: ({ counts }) => counts.changed },
    { title: 'Failed', show: ({ counts }) => counts.failed },
    { title: 'Unreachable', show: ({ counts }) => counts.unreachable },
    { title: 'Skipped', show: ({ counts }) => counts.skipped },
    { title: 'Ignored', show: ({ counts }) => counts.ignored },
  ];
}

function TaskResults({ id, results }: { id: number; results: readonly TaskResult[] }): ReactNode {
  const [search, setSearch] = useSearchParams();
  const filters = Object.fromEntries(FILTERS.map((name) => [name, search.get(name) ?? ''])) as Filters;
  const shown = results.filter((each) => FILTERS.every((name) => ['', each[name]].includes(filters[name])));
  const pages = Math.max(1, Math.ceil(shown.length / PAGE_SIZE));
  const page = Math.min(pages, Math.max(1, Number(search.get('page') ?? 1) || 1));
  const change = (name: string, value: string) =>
    setSearch((before) => {
      const next = new URLSearchParams(before);
      next.delete('page');
      if (value === '') next.delete(name);
      else next.set(name, value);
      return next;
    });
  return (
    <>
      <Toolbar>
        <ToolbarContent>
          {FILTERS.map((name) => (
            <ToolbarItem key={name}>
              <Choice
                aria-label={`${name[0]?.toUpperCase()}${name.slice(1)}`}
                value={filters[name]}
                options={[['', `All ${name}s`], ...valuesOf(results, name)]}
                onChange={(value) => change(name, value)}
              />
            </ToolbarItem>
          ))}
          <ToolbarItem variant="pagination" align={{ default: 'alignEnd' }}>
            <Pagination
              isCompact
              itemCount={shown.length}
              page={page}
              perPage={PAGE_SIZE}
              perPageOptions={[{ title: String(PAGE_SIZE), value: PAGE_SIZE }]}
              onSetPage={(_event, to) => change('page', String(to))}
              titles={{ paginationAriaLabel: 'Result pages', items: '' }}
            />
          </ToolbarItem>
        </ToolbarContent>
      </Toolbar>
      {shown.length === 0 ? (
        <p>No results match.</p>
      ) : (
        <PlainTable
          label="task results"
          columns={resultColumns(id)}
          rows={shown.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE)}
          keyOf={({ line }) => line}
        />
      )}
    </>
  );
}

/** The distinct values of a member with their labels, in the order of the output. */
function valuesOf(results: readonly TaskResult[], name: (typeof FILTERS)[number]) {
  const values = [...new Set(results.map((each) => each[name]))];
  return values.map((value) => [value, name === 'result' ? RESULTS[value as Result][0] : value] as const);
}

const MAX_TEXT = 300;

function resultColumns(id: number): readonly Column<TaskResult>[] {
  return [
    { title: 'Task', show: ({ task }) => task },
    { title: 'Host', show: ({ host }) => host },
    { title: 'Result', show: ({ result }) => <ResultLabel result={result} /> },
    { title: 'Text', show: ({ text }) => <LongText text={text} max={MAX_TEXT} /> },
    {
      title: 'Output',
      show: ({ line }) => <Link to={`/jobs/${id}#line-${line + 1}`}>{`Line ${line + 1}`}</Link>,
    },
  ];
}
