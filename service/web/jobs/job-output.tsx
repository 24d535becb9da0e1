/** The output of a job: read as it arrives, searchable, and followed to its end. */
import { Alert, SearchInput, Switch, Toolbar, ToolbarContent, ToolbarItem } from '@patternfly/react-core';
import { callApi, type Page, problemText, withQuery } from '@tokenctl/common/web/api.ts';
import {
  type KeyboardEvent,
  memo,
  type ReactNode,
  useDeferredValue,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { useLocation } from 'react-router';
import {
  LINE_KINDS,
  linesWith,
  type PlaybookOutput,
  piecesOf,
  readPlaybookOutput,
} from './playbook-output.ts';
import './jobs.css';

const POLL_MS = 1_000;
const PAGE_SIZE = 200;

interface JobEvent {
  readonly stdout: string;
  readonly start_line: number;
  readonly end_line: number;
}

/** Terminal color codes in a controller's output. */
const TERMINAL_CODES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z]`, 'g');
/** The maximum length of the shown output, from the end: browsers become slow with more. */
const MAX_SHOWN = 1_000_000;

interface Printed {
  readonly text: string;
  /** Whether all output so far was read. */
  readonly isWhole: boolean;
  /** Whether the job has ended and everything was read. Nothing further is requested. */
  readonly isEnded: boolean;
  readonly problem: string | null;
}

/** Reads a job's output page by page, as long as it runs. */
export function useOutput(id: number, isActive: boolean): Printed {
  const [printed, setPrinted] = useState<Printed>({
    text: '',
    isWhole: false,
    isEnded: false,
    problem: null,
  });
  const active = useRef(isActive);
  active.current = isActive;
  useEffect(() => {
    const left = new AbortController();
    const follow = async () => {
      let next = 0;
      while (!left.signal.aborted) {
        // Checked before the read: a job's output is complete once it has ended.
        const wasActive = active.current;
        const events = await readEvents(id, { from: next, signal: left.signal });
        if (left.signal.aborted) return;
        // Reads another page at once only after a full one: otherwise each line of a job that prints
        // continuously would be drawn separately.
        const isEnd = !events.isFull;
        const isEnded = isEnd && events.problem === null && !wasActive;
        setPrinted(({ text }) => ({
          text: text + events.text,
          isWhole: isEnd,
          isEnded,
          problem: events.problem,
        }));
        if (isEnded) return;
        next = events.end;
        if (isEnd) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    };
    void follow();
    return () => left.abort();
  }, [id]);
  return printed;
}

/** A page of a job's output from a line on. On failure, it has a `problem` and no text. */
async function readEvents(id: number, { from, signal }: { from: number; signal: AbortSignal }) {
  const path = withQuery(`/api/v2/jobs/${id}/job_events/`, {
    order_by: 'start_line',
    page_size: PAGE_SIZE,
    no_truncate: true,
    start_line__gte: from,
  });
  try {
    const { results } = await callApi<Page<JobEvent>>(path, { signal, quiet: true });
    const texts = results.filter(({ stdout }) => stdout !== '').map(({ stdout }) => `${stdout}\n`);
    return {
      text: texts.join('').replaceAll(TERMINAL_CODES, ''),
      end: Math.max(from, ...results.map(({ end_line }) => end_line)),
      isFull: results.length === PAGE_SIZE,
      problem: null,
    };
  } catch (error) {
    return { text: '', end: from, isFull: false, problem: problemText(error) };
  }
}

/** The shown lines, and the number of lines before them. */
function useLines(text: string): PlaybookOutput & { readonly isCut: boolean; readonly before: number } {
  return useMemo(() => {
    const cut = text.length > MAX_SHOWN ? text.indexOf('\n', text.length - MAX_SHOWN) + 1 : 0;
    const before = cut === 0 ? 0 : text.slice(0, cut).split('\n').length - 1;
    return { ...readPlaybookOutput(text.slice(cut)), isCut: cut > 0, before };
  }, [text]);
}

/** A job's output in a scrolling box, with a search, and with a switch that follows it while the job runs. */
export function Output({ id, isActive }: { id: number; isActive: boolean }): ReactNode {
  const { text, isWhole, isEnded, problem } = useOutput(id, isActive);
  const { lines, kinds, isCut, before } = useLines(text);
  const { hash } = useLocation();
  const target = Number(/^#line-(\d+)$/.exec(hash)?.[1] ?? 0) - 1 - before;
  const [isFollowed, setFollowed] = useState(isActive && target < 0);
  const { search, found, place, ...input } = useSearch(lines, () => setFollowed(false));
  const current = found[place] ?? (target >= 0 ? target : -1);
  const box = useRef<HTMLDivElement>(null);
  const seen = useRef(NOT_SEEN);
  useLayoutEffect(() => {
    const element = box.current;
    if (!isFollowed || text === '' || element === null) return;
    // The event of a reader who scrolls up may arrive after the next lines, which would scroll back.
    if (isScrolledUp(element, seen.current)) {
      setFollowed(false);
      return;
    }
    element.scrollTo({ top: element.scrollHeight });
    seen.current = placeOf(element);
  }, [isFollowed, text]);
  const isThere = current >= 0 && current < lines.length;
  useEffect(() => {
    if (isThere) document.getElementById(`line-${before + current + 1}`)?.scrollIntoView({ block: 'center' });
  }, [isThere, before, current]);
  const none = !isWhole ? 'Reading …' : isActive ? 'No activity yet.' : 'The job has no output.';
  return (
    <>
      {problem !== null && <Alert isInline variant="warning" component="p" title={problem} />}
      <Toolbar>
        <ToolbarContent>
          <ToolbarItem>
            <SearchInput
              aria-label="Search the output"
              placeholder="Search the output"
              {...input}
              {...(search !== '' && {
                resultsCount: `${found.length === 0 ? 0 : place + 1} / ${found.length}`,
              })}
            />
          </ToolbarItem>
          {isActive && (
            <ToolbarItem alignSelf="center">
              <Switch
                id="follow"
                label="Follow"
                isChecked={isFollowed}
                onChange={(_event, isOn) => {
                  seen.current = NOT_SEEN;
                  setFollowed(isOn);
                }}
              />
            </ToolbarItem>
          )}
          <ToolbarItem alignSelf="center">
            <a href={`/api/v2/jobs/${id}/stdout/?format=txt_download`}>Download</a>
          </ToolbarItem>
        </ToolbarContent>
      </Toolbar>
      {isCut && <p>Showing the last 1,000,000 characters. Download the output to see all of it.</p>}
      <div
        ref={box}
        className="job-output"
        role="log"
        aria-live="off"
        aria-busy={!isEnded}
        aria-labelledby="output-title"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reachable by keyboard
        tabIndex={0}
        onScroll={({ currentTarget: element }) => {
          // A reader who scrolls up stops following; one who scrolls to the end follows again. The event of
          // our own scrolling can arrive after the next lines.
          if (!isActive) return;
          if (element.scrollTop + element.clientHeight >= element.scrollHeight - NEAR_END) setFollowed(true);
          else if (isScrolledUp(element, seen.current)) setFollowed(false);
          seen.current = placeOf(element);
        }}
      >
        {lines.length === 0
          ? none
          : chunksOf(lines.length).map((from) => (
              <Lines
                key={from}
                text={lines.slice(from, from + CHUNK).join('\n')}
                kinds={kinds.slice(from, from + CHUNK)}
                first={before + from}
                search={search}
                current={current >= from && current < from + CHUNK ? current - from : -1}
              />
            ))}
      </div>
    </>
  );
}

/** How far from its end a box counts as scrolled to the end, in pixels. */
const NEAR_END = 20;

/** The position of a box and the height of its content, in pixels. */
interface Place {
  readonly scrollTop: number;
  readonly scrollHeight: number;
}

const NOT_SEEN: Place = { scrollTop: 0, scrollHeight: 0 };

const placeOf = ({ scrollTop, scrollHeight }: Element): Place => ({ scrollTop, scrollHeight });

/** Whether a box moved up by more than its content shrank: lines often become less high when they are laid out. */
function isScrolledUp({ scrollTop, scrollHeight }: Element, seen: Place): boolean {
  return seen.scrollTop - scrollTop > Math.max(0, seen.scrollHeight - scrollHeight) + 1;
}

/** Lines that are drawn together. Those before the end do not change while the output grows. */
const CHUNK = 200;

function chunksOf(count: number): readonly number[] {
  return Array.from({ length: Math.ceil(count / CHUNK) }, (_, chunk) => chunk * CHUNK);
}

/** A search: the matching lines, the current one, and the input's props. */
function useSearch(lines: readonly string[], onFound: () => void) {
  const [value, setValue] = useState('');
  const [place, setPlace] = useState(0);
  const search = useDeferredValue(value.trim());
  const found = useMemo(() => linesWith(lines, search), [lines, search]);
  const go = (to: number) => {
    onFound();
    setPlace(found.length === 0 ? 0 : (to + found.length) % found.length);
  };
  const change = (next: string) => {
    setValue(next);
    setPlace(0);
    if (next.trim() !== '') onFound();
  };
  return {
    search,
    found,
    place: Math.min(place, Math.max(0, found.length - 1)),
    value,
    onChange: (_event: unknown, next: string) => change(next),
    onClear: () => change(''),
    onNextClick: () => go(place + 1),
    onPreviousClick: () => go(place - 1),
    onKeyDown: ({ key, shiftKey, target }: KeyboardEvent) => {
      if (key === 'Enter' && target instanceof HTMLInputElement) go(shiftKey ? place - 1 : place + 1);
    },
  };
}

/** Some lines of the output, each with its number. */
const Lines = memo(function Lines({
  text,
  kinds,
  first,
  search,
  current,
}: {
  text: string;
  /** The kinds of the lines, one letter each. */
  kinds: string;
  /** How many lines precede them. */
  first: number;
  search: string;
  /** The line to mark; -1 for none. */
  current: number;
}): ReactNode {
  return (
    <div className="output-lines" style={{ counterReset: `line ${first}` }}>
      {text.split('\n').map((line, index) => {
        const kind = LINE_KINDS[(kinds[index] ?? ' ') as keyof typeof LINE_KINDS];
        const mark = index === current ? ' output-current' : '';
        // Asterisks fill a heading up to the width of a terminal. Phones omit them.
        const end = kind === 'heading' ? line.search(/ \*+\s*$/) : line.length;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name, and never change places
          <div key={index} id={`line-${first + index + 1}`} className={`output-line output-${kind}${mark}`}>
            <Found line={line.slice(0, end)} search={search} />
            {end < line.length && <span className="output-filler">{line.slice(end)}</span>}
            {'\n'}
          </div>
        );
      })}
    </div>
  );
});

/** A line with marked search results, in elements, which escape unsafe characters. Plain text would not be escaped. */
function Found({ line, search }: { line: string; search: string }): ReactNode {
  const pieces = search === '' ? [line] : piecesOf(line, search);
  return (
    <>
      {pieces.map((piece, index) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no other name
        index % 2 === 1 ? <mark key={index}>{piece}</mark> : piece,
      )}
    </>
  );
}
