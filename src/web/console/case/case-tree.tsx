/** Who created what, as a tree for pointer and arrow keys. */
import './case.css';
import { countText } from '@tokenctl/common/web/times.tsx';
import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react';
import type { ShownBranch } from '../../../console/case/shown-investigation.ts';
import { Severity } from '../parts.tsx';
import type { InvestigationRead, Item } from './case-stages.ts';
import { StateLabel, StolenLabel } from './item-details.tsx';

type Node = ShownBranch;

function keyOf({ user, item }: Node): string {
  return item ?? `user ${user?.name}`;
}

function countItems(nodes: readonly Node[]): number {
  return nodes.reduce((sum, { item, children }) => sum + (item === null ? 0 : 1) + countItems(children), 0);
}

interface TreeProps {
  readonly found: InvestigationRead;
  readonly active: string | null;
  readonly onChoose: (item: string) => void;
}

/** The tree: arrow keys move in it, Enter shows an item. */
export function ChainTree({ found, active, onChoose }: TreeProps): ReactNode {
  const { tree: roots } = found;
  const items = new Map(found.items.map((item) => [item.id, item]));
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [focused, setFocused] = useState<string | null>(null);
  const tree = useRef<HTMLDivElement>(null);
  if (roots.length === 0) return <p>No activity in this period.</p>;
  const notDrawn = found.items.length - countItems(roots);
  const toggle = (key: string, isOpen: boolean) => {
    const next = new Set(closed);
    if (isOpen) next.delete(key);
    else next.add(key);
    setClosed(next);
  };
  const onKey = (event: KeyboardEvent<HTMLElement>, node: Node) => {
    const shown = [...(tree.current?.querySelectorAll<HTMLElement>('[role="treeitem"]') ?? [])];
    const place = shown.indexOf(event.currentTarget);
    const isOpen = node.children.length > 0 && !closed.has(keyOf(node));
    const parent = event.currentTarget.parentElement?.closest<HTMLElement>('[role="treeitem"]');
    const choose = () => (node.item === null ? toggle(keyOf(node), !isOpen) : onChoose(node.item));
    const acts = new Map([
      ['ArrowDown', () => shown[place + 1]?.focus()],
      ['ArrowUp', () => shown[place - 1]?.focus()],
      ['Home', () => shown[0]?.focus()],
      ['End', () => shown.at(-1)?.focus()],
      ['ArrowRight', () => (isOpen ? shown[place + 1]?.focus() : toggle(keyOf(node), true))],
      ['ArrowLeft', () => (isOpen ? toggle(keyOf(node), false) : parent?.focus())],
      ['Enter', choose],
      [' ', choose],
    ]);
    const act = acts.get(event.key);
    if (act === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  const branch = (node: Node): ReactNode => {
    const isOpen = !closed.has(keyOf(node));
    const hasChildren = node.children.length > 0;
    const first = focused ?? (roots[0] && keyOf(roots[0]));
    return (
      <div
        key={keyOf(node)}
        role="treeitem"
        aria-selected={keyOf(node) === active}
        {...(hasChildren && { 'aria-expanded': isOpen })}
        tabIndex={keyOf(node) === first ? 0 : -1}
        onFocus={(event) => {
          if (event.target === event.currentTarget) setFocused(keyOf(node));
        }}
        onKeyDown={(event) => onKey(event, node)}
      >
        {/* biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: the tree item has the keys */}
        <div
          className="node"
          onClick={() => (node.item === null ? toggle(keyOf(node), !isOpen) : onChoose(node.item))}
        >
          <span className="fold" aria-hidden="true">
            {hasChildren ? (isOpen ? '▾' : '▸') : '·'}
          </span>
          <NodeText user={node.user} item={items.get(node.item ?? '')} />
        </div>
        {hasChildren && isOpen && (
          // biome-ignore lint/a11y/useSemanticElements: a group of a tree has no element of its own
          <div role="group">{node.children.map(branch)}</div>
        )}
      </div>
    );
  };
  return (
    <>
      <div ref={tree} role="tree" aria-label="Who made what" className="chain chain-box">
        {roots.map(branch)}
      </div>
      {notDrawn > 0 && (
        <p>
          {countText(notDrawn, 'more item is', 'more items are')} only in the list below: no author was
          recorded, or there are too many to draw.
        </p>
      )}
    </>
  );
}

function NodeText({ user, item }: { user: Node['user']; item: Item | undefined }): ReactNode {
  if (user !== null) {
    return (
      <span>
        <strong>{user.name}</strong>
        {user.how}
      </span>
    );
  }
  if (item === undefined) return null;
  return (
    <span>
      {item.summary} <StolenLabel item={item} />{' '}
      {item.risk !== null && !item.isStolen && <Severity severity={item.risk} />} <StateLabel item={item} />
    </span>
  );
}
