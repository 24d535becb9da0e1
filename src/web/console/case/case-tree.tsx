/** Who made what, as a tree that can be walked with the pointer and with the arrow keys. */
import './case.css';
import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react';
import { countText } from '../../shared/times.tsx';
import { Severity } from '../parts.tsx';
import type { InvestigationRead, Item } from './case-stages.ts';
import { StateLabel, StolenLabel } from './item-details.tsx';

/** A user of the chain, or something that a user did. */
interface Node {
  readonly key: string;
  readonly user: InvestigationRead['chain'][number] | null;
  readonly item: Item | null;
  readonly children: readonly Node[];
}

/** What is drawn under one user, and in all. */
const MOST_OF_USER = 60;
const MOST_NODES = 400;

type Link = InvestigationRead['chain'][number];

/** Below each user what that user did; below a user that was made, what that one did. */
function treeOf({ chain, items }: InvestigationRead): readonly Node[] {
  const drawn = new Set<Link>();
  let left = MOST_NODES;
  const userNode = (link: Link): Node => {
    drawn.add(link);
    left -= 1;
    const mine = items
      .filter(({ by }) => by[0] === link.user.username)
      .toSorted((one, other) => Number(other.isStolen) - Number(one.isStolen));
    const children = mine.slice(0, Math.max(0, Math.min(MOST_OF_USER, left))).map(itemNode);
    const others = chain
      .filter((each) => !drawn.has(each) && each.by?.username === link.user.username)
      .filter(({ through }) => !mine.some(({ id }) => id === through))
      .map(userNode);
    return { key: `user ${link.user.username}`, user: link, item: null, children: [...children, ...others] };
  };
  const itemNode = (item: Item): Node => {
    left -= 1;
    const made = chain.filter((each) => !drawn.has(each) && each.through === item.id);
    return { key: item.id, user: null, item, children: made.map(userNode) };
  };
  const roots = chain.filter(({ how }) => how === 'subject').map(userNode);
  return [...roots, ...chain.filter((link) => !drawn.has(link)).map(userNode)];
}

/** How many items are drawn. */
function countItems(nodes: readonly Node[]): number {
  return nodes.reduce((sum, { item, children }) => sum + (item === null ? 0 : 1) + countItems(children), 0);
}

interface TreeProps {
  readonly found: InvestigationRead;
  readonly active: string | null;
  readonly onChoose: (item: string) => void;
}

/** The tree: the arrow keys walk it, Enter shows an item. */
export function ChainTree({ found, active, onChoose }: TreeProps): ReactNode {
  const roots = treeOf(found);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [focused, setFocused] = useState<string | null>(null);
  const tree = useRef<HTMLDivElement>(null);
  if (roots.length === 0) return <p>Nobody did anything in this period.</p>;
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
    const isOpen = node.children.length > 0 && !closed.has(node.key);
    const parent = event.currentTarget.parentElement?.closest<HTMLElement>('[role="treeitem"]');
    const choose = () => (node.item === null ? toggle(node.key, !isOpen) : onChoose(node.item.id));
    const acts = new Map([
      ['ArrowDown', () => shown[place + 1]?.focus()],
      ['ArrowUp', () => shown[place - 1]?.focus()],
      ['Home', () => shown[0]?.focus()],
      ['End', () => shown.at(-1)?.focus()],
      ['ArrowRight', () => (isOpen ? shown[place + 1]?.focus() : toggle(node.key, true))],
      ['ArrowLeft', () => (isOpen ? toggle(node.key, false) : parent?.focus())],
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
    const isOpen = !closed.has(node.key);
    const hasChildren = node.children.length > 0;
    const first = focused ?? roots[0]?.key;
    return (
      <div
        key={node.key}
        role="treeitem"
        aria-selected={node.key === active}
        {...(hasChildren && { 'aria-expanded': isOpen })}
        tabIndex={node.key === first ? 0 : -1}
        onFocus={(event) => {
          if (event.target === event.currentTarget) setFocused(node.key);
        }}
        onKeyDown={(event) => onKey(event, node)}
      >
        {/* biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: the tree item has the keys */}
        <div
          className="node"
          onClick={() => (node.item === null ? toggle(node.key, !isOpen) : onChoose(node.item.id))}
        >
          <span className="fold" aria-hidden="true">
            {hasChildren ? (isOpen ? '▾' : '▸') : '·'}
          </span>
          <NodeText node={node} />
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
          {countText(notDrawn, 'more item is', 'more items are')} in the list below only: nobody is recorded
          as the author, or there are too many to draw.
        </p>
      )}
    </>
  );
}

function NodeText({ node: { user, item } }: { readonly node: Node }): ReactNode {
  if (user !== null) {
    const how = { subject: '', made: ', made by the user above', password_set: ', whose password was set' }[
      user.how
    ];
    return (
      <span>
        <strong>{user.user.username}</strong>
        {how}
        {user.exists === false && ', deleted'}
      </span>
    );
  }
  if (item === null) return null;
  return (
    <span>
      {item.summary} <StolenLabel item={item} />{' '}
      {item.risk !== null && !item.isStolen && <Severity severity={item.risk} />} <StateLabel item={item} />
    </span>
  );
}
