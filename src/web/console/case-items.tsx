/** What an investigation found: as a tree of who made what, and as a list to pick from; and the cleanings. */
import {
  Button,
  Checkbox,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  Toolbar,
  ToolbarContent,
  ToolbarItem,
} from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import { Choice } from '../shared/choice.tsx';
import { Loaded } from '../shared/states.tsx';
import { PlainTable } from '../shared/table.tsx';
import { countText, numberText } from '../shared/times.tsx';
import { query, useFacts, useRead } from './api.ts';
import type { CaseRead, InvestigationRead, Item } from './case-stages.ts';
import { ChainTree } from './case-tree.tsx';
import { CleanDialog, Cleanings } from './cleanings.tsx';
import { TextSearch } from './commands.tsx';
import type { ChosenPlace } from './controller.tsx';
import { FoundText, Limits, OwnersWork } from './found-text.tsx';
import { ItemDetails, ObjectLink, SeenAgain, SetsBack, StateLabel, StolenLabel } from './item-details.tsx';
import { HandOverDialog, MarkButtons, MarkCell, useMark } from './item-marks.tsx';
import { Message, Severity, When } from './parts.tsx';

/** What is left to do about the last investigation of a case, and what cleanings did. */
export function CaseItems({
  read,
  chosen,
}: {
  readonly read: CaseRead;
  readonly chosen: ChosenPlace;
}): ReactNode {
  const last = read.investigations.at(-1);
  const found = useRead<InvestigationRead>(
    last === undefined
      ? null
      : query('/api/case/investigation', {
          place: chosen.place,
          incident: read.incident.id,
          name: last.name,
        }),
  );
  return (
    <>
      {last === undefined ? (
        <p>Investigate first: a cleaning ends what an investigation found.</p>
      ) : (
        <Loaded query={found}>
          {(data) => <Found key={last.name} read={read} chosen={chosen} found={data} name={last.name} />}
        </Loaded>
      )}
      <Cleanings read={read} chosen={chosen} />
    </>
  );
}

const GROUPS = [
  ['', 'All kinds'],
  ['ways_in', 'Ways in'],
  ['code_later', 'Ways to run code later'],
  ['ran', 'What ran'],
  ['other', 'Other changes'],
] as const;

const SHOWN = [
  ['remains', 'What remains'],
  ['marked', 'Honest, by hand or handed over'],
  ['all', 'All'],
] as const;

/** The rows that are drawn at first. */
const MOST_ROWS = 100;

interface FoundProps {
  readonly read: CaseRead;
  readonly chosen: ChosenPlace;
  readonly found: InvestigationRead;
  readonly name: string;
}

function Found(props: FoundProps): ReactNode {
  const { found } = props;
  const { items, total } = found;
  const [active, setActive] = useState<string | null>(null);
  const [isOpen, setOpen] = useState<Item | null>(null);
  // What was marked stays in its place, or the next row would come under the pointer.
  const [kept, setKept] = useState<ReadonlySet<string>>(new Set());
  const keep = (id: string) => setKept((before) => new Set([...before, id]));
  const choose = (id: string) => {
    setActive(id);
    setOpen(items.find((item) => item.id === id) ?? null);
  };
  return (
    <>
      {total > items.length && (
        <Message
          variant="warning"
          title={`The page has the first ${numberText(items.length)} of ${numberText(total)} items. Use the command for the others.`}
        />
      )}
      <p>
        <FoundText found={found} at={props.read.at} />
      </p>
      <h3>Who made what</h3>
      <ChainTree found={found} active={active} onChoose={choose} />
      <h3>Items</h3>
      <ItemList {...props} kept={kept} onKeep={keep} onFilter={() => setKept(new Set())} onOpen={setOpen} />
      <OwnersWork found={found} />
      {isOpen !== null && (
        <ItemDialog
          {...props}
          item={items.find(({ id }) => id === isOpen.id) ?? isOpen}
          onSay={() => keep(isOpen.id)}
          onClose={() => setOpen(null)}
        />
      )}
      <Limits found={found} />
    </>
  );
}

function ItemList({
  read,
  chosen,
  found,
  name,
  kept,
  onKeep,
  onFilter,
  onOpen,
}: FoundProps & {
  /** The ids of the rows that stay, whatever is shown. */
  readonly kept: ReadonlySet<string>;
  readonly onKeep: (id: string) => void;
  /** Called before other items are shown. */
  readonly onFilter: () => void;
  readonly onOpen: (item: Item) => void;
}): ReactNode {
  const { readOnly } = useFacts();
  const { items } = found;
  const [shown, setShown] = useState<(typeof SHOWN)[number][0]>('remains');
  const [group, setGroup] = useState('');
  const [text, setText] = useState('');
  const [most, setMost] = useState(MOST_ROWS);
  const [changed, setChanged] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [isCleaning, setCleaning] = useState(false);
  const [handing, setHanding] = useState<Item | null>(null);
  // Nothing is picked before somebody picked it: the owner's honest work looks the same.
  const isPicked = (item: Item) => isPickable(item) && changed.get(item.id) === true;
  const rows = items.filter(
    (item) =>
      kept.has(item.id) ||
      ((shown === 'all' || (shown === 'marked' ? MARKED.has(item.fate) : item.remains)) &&
        (group === '' || item.group === group) &&
        matches(item, text)),
  );
  const filtering =
    <Value,>(set: (value: Value) => void) =>
    (value: Value) => {
      onFilter();
      set(value);
    };
  const picked = items.filter(isPicked);
  const pick = (some: readonly Item[], isOn: boolean) =>
    setChanged(new Map([...changed, ...some.map(({ id }) => [id, isOn] as const)]));
  const pickable = rows.filter(isPickable);
  const mark = useMark({ read, chosen });
  return (
    <>
      <Toolbar>
        <ToolbarContent>
          <ToolbarItem>
            <TextSearch label="Search items" value={text} onChange={filtering(setText)} />
          </ToolbarItem>
          <ToolbarItem>
            <Choice aria-label="Which items" value={shown} options={SHOWN} onChange={filtering(setShown)} />
          </ToolbarItem>
          <ToolbarItem>
            <Choice aria-label="Kind" value={group} options={GROUPS} onChange={filtering(setGroup)} />
          </ToolbarItem>
        </ToolbarContent>
      </Toolbar>
      {mark.error !== null && <Message isLiveRegion variant="danger" title={mark.error.message} />}
      {rows.length === 0 ? (
        <p>{shown === 'remains' ? nothingText(items) : 'No items.'}</p>
      ) : (
        <PlainTable
          label="Items of the investigation"
          rows={rows.slice(0, most)}
          keyOf={({ id }) => id}
          columns={[
            ...(readOnly
              ? []
              : [
                  {
                    title: 'Clean',
                    show: (item: Item) => (
                      <Checkbox
                        id={`pick ${item.id}`}
                        aria-label={`Clean ${item.summary}`}
                        isChecked={isPicked(item)}
                        isDisabled={!isPickable(item)}
                        onChange={(_event, isOn) => pick([item], isOn)}
                      />
                    ),
                  },
                ]),
            {
              title: 'Risk',
              show: ({ risk }) => (risk === null ? 'none found' : <Severity severity={risk} />),
            },
            {
              title: 'What',
              show: (item) => (
                <div className="what">
                  <Button variant="link" isInline onClick={() => onOpen(item)}>
                    {item.summary}
                  </Button>{' '}
                  <StolenLabel item={item} />
                  <div className="hint">
                    <SeenAgain item={item} />
                  </div>
                  {isPickable(item) && <SetsBack item={item} />}
                  {item.takesNaming && <div className="hint">Perhaps the work of somebody else.</div>}
                  {(item.remains || kept.has(item.id)) && item.notCleanable !== null && (
                    // What is marked is not to be done by hand any more; the row keeps its height under the pointer.
                    <div className={item.mark === null && item.handedOver === null ? 'hint' : 'hint settled'}>
                      By hand: {item.notCleanable}{' '}
                      {item.page !== null && (
                        <>
                          <ObjectLink page={item.page} />{' '}
                        </>
                      )}
                      {item.remains && 'Then mark it as done by hand, or hand it over.'}
                    </div>
                  )}
                </div>
              ),
            },
            { title: 'By', show: ({ by }) => (by.length === 0 ? 'not recorded' : by.join(', ')) },
            { title: 'When', show: ({ first: at }) => <When at={at} /> },
            { title: 'Now', show: (item) => <StateLabel item={item} isShort /> },
            ...(readOnly
              ? []
              : [
                  {
                    title: 'Mark',
                    // With words of their own: where a wide row pushes the titles away, one must not be taken for the other.
                    show: (item: Item) => (
                      <MarkCell
                        {...{ item, mark }}
                        onSay={() => onKeep(item.id)}
                        onHandOver={() => {
                          mark.reset();
                          onKeep(item.id);
                          setHanding(item);
                        }}
                      />
                    ),
                  },
                ]),
          ]}
        />
      )}
      {rows.length > most && (
        <Button variant="link" onClick={() => setMost(most + MOST_ROWS)}>
          Show more of {numberText(rows.length)}
        </Button>
      )}
      {!readOnly && (
        <div className="actions">
          {items.some(isPickable) && (
            <Button variant="danger" isDisabled={picked.length === 0} onClick={() => setCleaning(true)}>
              {picked.length === 0 ? 'Clean what is picked…' : `Clean ${countText(picked.length, 'item')}…`}
            </Button>
          )}
          {pickable.length > 0 && (
            <>
              <Button variant="link" onClick={() => pick(pickable, true)}>
                Pick all {pickable.length} that can be cleaned
              </Button>
              <Button variant="link" onClick={() => pick(pickable, false)}>
                Pick none of them
              </Button>
            </>
          )}
        </div>
      )}
      {handing !== null && <HandOverDialog item={handing} mark={mark} onClose={() => setHanding(null)} />}
      {isCleaning && (
        <CleanDialog
          read={read}
          title={`Clean ${countText(picked.length, 'item')}`}
          request={{
            kind: 'incident clean',
            place: chosen.place,
            incident: read.incident.id,
            investigation: name,
            items: picked.map(({ id }) => id),
            ...(chosen.restContext !== undefined && { restContext: chosen.restContext }),
          }}
          onClose={() => setCleaning(false)}
        />
      )}
    </>
  );
}

const MARKED: ReadonlySet<Item['fate']> = new Set(['honest', 'by_hand', 'handed_over']);

/** What is said where nothing is left to clean: what people marked was there all the same. */
function nothingText(items: readonly Item[]): string {
  return items.some(({ fate }) => MARKED.has(fate))
    ? 'No items to clean or to mark. Choose "Honest, by hand or handed over" for those that are marked.'
    : 'None of these remained.';
}

/** Whether a cleaning can end an item that remains. */
function isPickable({ remains, notCleanable }: Item): boolean {
  return remains && notCleanable === null;
}

function matches({ summary, id, by, findings }: Item, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return true;
  return [summary, id, ...by, ...findings.map(({ rule }) => rule)].some((each) =>
    each.toLowerCase().includes(wanted),
  );
}

function ItemDialog({
  item,
  onSay,
  onClose,
  ...props
}: FoundProps & {
  readonly item: Item;
  /** Called before something is said of the item. */
  readonly onSay: () => void;
  readonly onClose: () => void;
}): ReactNode {
  const { readOnly } = useFacts();
  const mark = useMark(props);
  const [isHanding, setHanding] = useState(false);
  if (isHanding) return <HandOverDialog item={item} mark={mark} onClose={() => setHanding(false)} />;
  return (
    <Modal isOpen variant="medium" onClose={onClose} aria-labelledby="item-title">
      <ModalHeader title={item.summary} labelId="item-title" />
      <ModalBody tabIndex={0} aria-label="The item">
        <ItemDetails item={item} />
        {mark.error !== null && <Message isLiveRegion variant="danger" title={mark.error.message} />}
      </ModalBody>
      <ModalFooter>
        {!readOnly && <MarkButtons {...{ item, mark, onSay }} onHandOver={() => setHanding(true)} />}
        <Button variant="link" onClick={onClose}>
          Close
        </Button>
      </ModalFooter>
    </Modal>
  );
}
