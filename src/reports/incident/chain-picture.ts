import { type ChainBranch, chainTree } from '../../domain/investigation/chain-tree.ts';
import {
  type ChainLink,
  type Investigation,
  type InvestigationItem,
  isStillThere,
  isSwitchedOff,
  stateText,
} from '../../domain/investigation/investigation.ts';
import { html } from '../html.ts';

/** One line of the picture: a user of the chain, or something that a user did. */
export interface ChainNode {
  readonly depth: number;
  readonly text: string;
  /** `open`: remains; `closed`: gone, undone or finished; `unknown`: not checked. */
  readonly state: 'user' | 'open' | 'closed' | 'unknown';
  /** How a remaining object was switched off: for a user, deactivated. */
  readonly off?: string;
  /** The index of its parent node; null for a root. */
  readonly parent: number | null;
}

/** The marks that people gave an item, for its line. */
export interface ChainNote {
  readonly text: string;
  /** Whether its state was not checked since. */
  readonly isUnknown: boolean;
}

/** The maximum number of items per user, and of lines in the picture. */
const MAX_OF_USER = 25;
const MAX_NODES = 120;

interface MarkedItems {
  /** The notes about items, by item id. */
  readonly notes: ReadonlyMap<string, ChainNote>;
  readonly stolen: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();
const NO_NOTES: MarkedItems['notes'] = new Map();

/**
 * The tree of who created what: below each user of the chain its actions, and below a created user that
 * user's.
 * @param marked.notes The notes about items, by item id.
 * @param marked.stolen The ids of stolen tokens.
 */
export function chainNodes(
  { chain, items }: Investigation,
  { notes = NO_NOTES, stolen = NONE }: Partial<MarkedItems> = {},
): readonly ChainNode[] {
  const nodes: ChainNode[] = [];
  const lineOf = (of: ChainBranch['of']): Pick<ChainNode, 'text' | 'state' | 'off'> => {
    if ('user' in of) return { state: 'user', text: `${of.user.username}${howText(of)}` };
    const note = notes.get(of.id);
    return {
      state: note?.isUnknown === true ? 'unknown' : stateOf(of),
      text: `${of.summary}${note === undefined ? '' : ` (${note.text})`}${stolen.has(of.id) ? STOLEN : ''}`,
      ...(isSwitchedOff(of) && note === undefined && { off: stateText(of) }),
    };
  };
  const add = ({ of, children, more }: ChainBranch, depth: number, parent: number | null) => {
    const place = nodes.push({ depth, parent, ...lineOf(of) }) - 1;
    for (const child of children) add(child, depth + 1, place);
    if (more > 0) nodes.push({ depth: depth + 1, parent: place, state: 'unknown', text: `and ${more} more` });
  };
  const limits = { most: Number.POSITIVE_INFINITY, mostOfUser: MAX_OF_USER };
  for (const branch of chainTree(chain, items.filter(isTold), { stolen, ...limits })) add(branch, 0, null);
  return nodes.slice(0, MAX_NODES);
}

/** How a user joined the chain, after the name. */
export function howText({ how, exists }: Pick<ChainLink, 'how' | 'exists'>): string {
  return `${HOW[how]}${exists === false ? ', deleted' : ''}`;
}

const HOW: Readonly<Record<ChainLink['how'], string>> = {
  subject: '',
  made: ' (created by the user above)',
  password_set: ' (password set by the user above)',
};

/** Appended to the summary of the stolen token. */
export const STOLEN = ' (the stolen token, created here)';

/** Other changes are shown even if restored; ended items without access are not. */
function isTold(item: InvestigationItem): boolean {
  return item.group !== 'other' || item.act === 'changed' || isStillThere(item);
}

function stateOf(item: InvestigationItem): ChainNode['state'] {
  if (item.state === 'unknown') return 'unknown';
  return isStillThere(item) ? 'open' : 'closed';
}

const ROW = 26;
const INDENT = 26;
const WIDTH = 980;
/** The maximum length of a line, and the reduction per indentation level. */
const MAX_TEXT = 120;
const CHARACTERS_OF_INDENT = 4;

/**
 * The styles, in the colors of the surrounding page, light or dark. A standalone file has only fixed colors,
 * as image viewers know no variables. Closed items are rings: not everyone can distinguish the colors.
 */
function styleOf(standalone: boolean): string {
  const color = (name: string, own: string) => (standalone ? own : `var(--${name})`);
  const [over, unknown] = [color('muted', '#5d6b7e'), color('medium', '#8a6a00')];
  return `<style>.chain-line{stroke:#8a94a3;fill:none;stroke-width:1.5}.chain-user{fill:${color('bar', '#2f6fb5')}}.chain-open{fill:${color('critical', '#b42318')}}.chain-closed{fill:none;stroke:${over};stroke-width:2}.chain-unknown{fill:${unknown};fill-opacity:.4;stroke:${unknown}}.chain-name{font-weight:600}</style>`;
}

/**
 * The tree as SVG without scripts or links. All texts are escaped.
 * @param standalone Adds a namespace, a font and a white background, for a separate file.
 */
export function chainPicture(nodes: readonly ChainNode[], { standalone = false } = {}): string {
  const height = (nodes.length + 1) * ROW + 12;
  const x = ({ depth }: ChainNode) => 14 + depth * INDENT;
  const y = (place: number) => 18 + place * ROW;
  const lines = nodes.flatMap((node, place) => {
    const parent = node.parent === null ? undefined : nodes[node.parent];
    if (parent === undefined || node.parent === null) return [];
    return [`<path class="chain-line" d="M${x(parent)} ${y(node.parent) + 7}V${y(place)}H${x(node) - 6}"/>`];
  });
  const texts = nodes.map((node, place) => {
    const most = MAX_TEXT - node.depth * CHARACTERS_OF_INDENT;
    const whole = node.off === undefined ? node.text : `${node.text} (${node.off})`;
    const text = whole.length > most ? `${whole.slice(0, most - 1)}…` : whole;
    const mark =
      node.state === 'user'
        ? `<rect class="chain-user" x="${x(node) - 6}" y="${y(place) - 6}" width="12" height="12" rx="3"/>`
        : `<circle class="chain-${node.state}" cx="${x(node)}" cy="${y(place)}" r="5"/>`;
    const name = node.state === 'user' ? ' class="chain-name"' : '';
    return `<g>${mark}<text${name} x="${x(node) + 14}" y="${y(place)}">${html(text)}</text></g>`;
  });
  const legend = LEGEND.map(
    ([state, name, left]) =>
      `<circle class="chain-${state}" cx="${left}" cy="${y(nodes.length) + 8}" r="5"/><text class="small" x="${left + 10}" y="${y(nodes.length) + 8}">${name}</text>`,
  );
  const own = standalone
    ? ' xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="13" dominant-baseline="central"'
    : '';
  const ground = standalone ? `<rect width="${WIDTH}" height="${height}" fill="#fff"/>` : '';
  return `<svg${own} viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Who made what">${styleOf(standalone)}${ground}
${[...lines, ...texts, ...legend].join('\n')}
</svg>`;
}

const LEGEND = [
  ['open', 'remains', 14],
  ['closed', 'gone, undone or finished', 110],
  ['unknown', 'not checked', 300],
] as const;
