import { type AccessPath, pathName, sentenceOf } from '../domain/access.ts';
import { type Document, emphasized, folded, type Lines, lines, type Part } from './document.ts';
import { countText, numberText } from './tables/text.ts';

const STATES: Readonly<Record<AccessPath['state'], string>> = {
  closed: 'closed',
  open: 'OPEN',
  not_checked: 'NOT CHECKED',
};

/**
 * The access paths, each with its state, the basis of that, and what to do about it: covered ones first, then
 * those that the operation leaves open. Empty without paths.
 * @param whose The users or applications of the access paths. Some are named if all paths are closed: others
 * may be open.
 */
export function accessParts(paths: readonly AccessPath[], whose: readonly string[] = []): Document {
  const covered = paths.filter((each) => each.covered);
  const others = paths.filter((each) => !each.covered);
  return [
    folded(
      covered.every(({ state, remedy }) => state === 'closed' && remedy === undefined) &&
        closedText(countText(covered.length, 'access path'), whose),
      covered.length > 0 && emphasized`Access paths:`,
      covered.map(linesOf),
    ),
    lines(others.length > 0 && 'Still open:', others.map(linesOf)),
  ];
}

function closedText(paths: string, whose: readonly string[]): string {
  const isNamed = whose.length > 0 && whose.length <= MOST_NAMED;
  return isNamed ? `${whose.join(', ')}: ${paths} closed` : `${paths}: all closed`;
}

const MOST_NAMED = 3;

function linesOf(each: AccessPath): Lines {
  return [
    { mark: STATES[each.state], text: `${nameText(each)}: ${sentenceOf(each)}` },
    each.remedy !== undefined && { text: each.remedy, depth: 7 },
  ];
}

/** What a plan does not cover, in one line; empty if it covers everything. */
export function notCovered(paths: readonly AccessPath[]): Part {
  const left = paths.filter(({ covered, state }) => !covered && state !== 'closed');
  return lines(
    left.length > 0 && `Still open: ${left.map((each) => nameText(each).toLowerCase()).join(', ')}.`,
  );
}

/** The name of an access path, with the number remaining if known. */
function nameText({ path, covered, count }: AccessPath): string {
  return count === undefined || covered ? pathName(path) : `${pathName(path)} (${numberText(count)})`;
}
