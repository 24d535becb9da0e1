/** The findings of an investigation: a list for decisions, a tree of who created what, and the cleanings. */
import { Button, Toolbar, ToolbarContent, ToolbarItem } from '@patternfly/react-core';
import { Choice } from '@tokenctl/common/web/choice.tsx';
import { Loaded } from '@tokenctl/common/web/states.tsx';
import { PlainTable } from '@tokenctl/common/web/table.tsx';
import { numberText } from '@tokenctl/common/web/times.tsx';
import { type ReactNode, useState } from 'react';
import { query, useFacts, useRead } from '../api.ts';
import { TextSearch } from '../commands.tsx';
import { Message } from '../parts.tsx';
import type { ChosenCase, InvestigationRead, Item } from './case-stages.ts';
import { ChainTree } from './case-tree.tsx';
import { Cleanings } from './cleanings.tsx';
import { Decide } from './decide.tsx';
import { FoundText, Limits, OwnersWork } from './found-text.tsx';
import { ITEM_COLUMNS, ItemDialog, SeenAgain, StolenLabel } from './item-details.tsx';
import { type Fate, FateCell, type Fates, type Receivers, UndoMark } from './item-fates.tsx';

/** What is left to do about the last investigation of a case, and what cleanings did. */
export function CaseItems({ read, chosen }: ChosenCase): ReactNode {
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
        <p>Run an investigation first: a cleanup removes what an investigation found.</p>
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
  ['code_later', 'Code that can run later'],
  ['ran', 'What ran'],
  ['other', 'Other changes'],
] as const;

/** The filters of items, with their numbers. */
const SHOWN = [
  ['remains', 'To decide'],
  ['marked', 'Legitimate, resolved manually or reassigned'],
  ['all', 'All'],
] as const;

type Shown = (typeof SHOWN)[number][0];

/** The number of rows drawn at first, and the number from which there is a search field. */
const MOST_ROWS = 100;
const MANY_ROWS = 12;

interface FoundProps extends ChosenCase {
  readonly found: InvestigationRead;
  readonly name: string;
}

function Found(props: FoundProps): ReactNode {
  const { found } = props;
  const { items, total } = found;
  const { readOnly } = useFacts();
  const [active, setActive] = useState<string | null>(null);
  const [isOpen, setOpen] = useState<Item | null>(null);
  // An item to decide again stays in its place: otherwise the next row would move under the pointer.
  const [kept, setKept] = useState<ReadonlySet<string>>(new Set());
  const keep = (id: string) => setKept((before) => new Set([...before, id]));
  const choose = (id: string) => {
    setActive(id);
    setOpen(items.find((item) => item.id === id) ?? null);
  };
  const openItem = items.find(({ id }) => id === isOpen?.id);
  return (
    <>
      {total > items.length && (
        <Message
          variant="warning"
          title={`This page shows the first ${numberText(items.length)} of ${numberText(total)} items. Use the command for the rest.`}
        />
      )}
      <p>
        <FoundText found={found} />
      </p>
      <ItemList {...props} kept={kept} onKeep={keep} onFilter={() => setKept(new Set())} onOpen={setOpen} />
      <details className="evidence">
        <summary>Who made what</summary>
        <ChainTree found={found} active={active} onChoose={choose} />
      </details>
      <OwnersWork found={found} />
      <Limits found={found} />
      {isOpen !== null && (
        <ItemDialog item={openItem ?? isOpen} onClose={() => setOpen(null)}>
          {!readOnly && <UndoMark {...props} item={openItem ?? isOpen} onUndo={() => keep(isOpen.id)} />}
        </ItemDialog>
      )}
    </>
  );
}

function ItemList(
  props: FoundProps & {
    /** The ids of rows that stay regardless of the filter. */
    readonly kept: ReadonlySet<string>;
    readonly onKeep: (id: string) => void;
    /** Called before the filter changes. */
    readonly onFilter: () => void;
    readonly onOpen: (item: Item) => void;
  },
): ReactNode {
  const { read, chosen, found, name, kept, onKeep, onFilter, onOpen } = props;
  const { readOnly } = useFacts();
  const { items } = found;
  const [shown, setShown] = useState<Shown>('remains');
  const [group, setGroup] = useState('');
  const [text, setText] = useState('');
  // Nothing is preselected: the owner's legitimate work looks the same.
  const [fates, setFates] = useState<Fates>(new Map());
  const [receivers, setReceivers] = useState<Receivers>(new Map());
  const [isTried, setTried] = useState(false);
  const choose = (some: readonly Item[], fate: Fate | null) => {
    const next = new Map(fates);
    for (const { id } of some) {
      if (fate === null) next.delete(id);
      else next.set(id, fate);
    }
    setFates(next);
    // Several items usually go to the same people: the last name is the default.
    const last = [...receivers.values()].at(-1);
    const given = some.filter(({ id }) => fate === 'handed_over' && !receivers.has(id));
    if (last !== undefined)
      setReceivers(new Map([...receivers, ...given.map(({ id }) => [id, last] as const)]));
  };
  const rows = items.filter(
    (item) =>
      kept.has(item.id) ||
      (isShown(item, shown) && (group === '' || item.group === group) && matches(item, text)),
  );
  const filtering =
    <Value,>(set: (value: Value) => void) =>
    (value: Value) => {
      onFilter();
      set(value);
    };
  return (
    <>
      <Toolbar>
        <ToolbarContent>
          <ToolbarItem>
            <Choice
              aria-label="Which items"
              value={shown}
              options={SHOWN.map(
                ([value, label]) =>
                  [
                    value,
                    `${label} (${numberText(items.filter((item) => isShown(item, value)).length)})`,
                  ] as const,
              )}
              onChange={filtering(setShown)}
            />
          </ToolbarItem>
          {items.length > MANY_ROWS && (
            <>
              <ToolbarItem>
                <Choice aria-label="Kind" value={group} options={GROUPS} onChange={filtering(setGroup)} />
              </ToolbarItem>
              <ToolbarItem>
                <TextSearch label="Search items" value={text} onChange={filtering(setText)} />
              </ToolbarItem>
            </>
          )}
        </ToolbarContent>
      </Toolbar>
      {rows.length === 0 ? (
        <p>{shown === 'remains' ? nothingText(items) : 'No items.'}</p>
      ) : (
        <PlainTable
          label="Investigation items"
          rows={rows}
          most={MOST_ROWS}
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Action',
              show: (item) => (
                <FateCell
                  {...{ item, read, chosen, fates, receivers, isTried }}
                  onChoose={(fate) => choose([item], fate)}
                  onReceiver={(to) => setReceivers(new Map([...receivers, [item.id, to]]))}
                  onUndo={() => {
                    onKeep(item.id);
                    choose([item], null);
                  }}
                />
              ),
            },
            { title: 'What', show: (item) => <What item={item} onOpen={onOpen} /> },
            ...[ITEM_COLUMNS.risk, ITEM_COLUMNS.by, ITEM_COLUMNS.when],
          ]}
        />
      )}
      {!readOnly && (rows.length > 0 || fates.size > 0) && (
        <Decide
          {...{ read, chosen, name, items, rows, fates, receivers, isTried }}
          onChoose={choose}
          onTry={setTried}
        />
      )}
    </>
  );
}

/** An item in a few words; the rest is in its dialog. */
function What({ item, onOpen }: { item: Item; onOpen: (item: Item) => void }): ReactNode {
  return (
    <div className="what">
      <Button variant="link" isInline onClick={() => onOpen(item)}>
        {item.summary}
      </Button>{' '}
      <StolenLabel item={item} />
      {item.fate === 'seen_again' && (
        <div className="hint">
          <SeenAgain item={item} />
        </div>
      )}
      {item.remains && item.setsBack !== null && <div className="hint">{item.setsBack}</div>}
      {item.takesNaming && <div className="hint">Possibly done by another user.</div>}
      {item.remains && item.notCleanable !== null && (
        <Button
          variant="link"
          isInline
          className="hint"
          aria-label={`Manual only: show instructions for ${item.summary}`}
          onClick={() => onOpen(item)}
        >
          Manual only: show instructions
        </Button>
      )}
    </div>
  );
}

const MARKED: ReadonlySet<Item['fate']> = new Set(['legitimate', 'by_hand', 'handed_over']);

function isShown({ fate, remains }: Item, shown: Shown): boolean {
  return shown === 'all' || (shown === 'marked' ? MARKED.has(fate) : remains);
}

/** The text if nothing is left to decide: marked items may still exist. */
function nothingText(items: readonly Item[]): string {
  return items.some(({ fate }) => MARKED.has(fate)) ? 'Nothing left to decide.' : 'None of these remained.';
}

function matches({ summary, id, by, rules }: Item, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return true;
  return [summary, id, ...by, ...rules].some((each) => each.toLowerCase().includes(wanted));
}
