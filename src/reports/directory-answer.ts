import type { DirectoryAnswer } from '../operations/directories/answer-history.ts';
import { type Document, lines, list } from './document.ts';
import { countText, timeText } from './tables/text.ts';

/** How many users in doubt are listed. */
const MAX_DOUBTFUL = 20;

/** What a directory answered: who has left by which evidence, and who is in doubt and stays. */
export function answerDocument(answer: DirectoryAnswer): Document {
  const { directory, at, listed, disabled, listedBefore, gone, doubtful, present, kept } = answer;
  const before = listedBefore === null ? 'the first answer' : `${listedBefore} the last time`;
  const rest = doubtful.length - MAX_DOUBTFUL;
  return [
    lines(
      `The directory ${directory} listed ${countText(listed, 'user')} (${before}), ${disabled} of them disabled, at ${timeText(at)}.`,
      `External users: ${gone.length} left, ${present} there, ${doubtful.length} in doubt. ${countText(kept, 'other user')} not compared.`,
      gone.length > 0 && 'Left by the directory:',
      gone.map(({ username, basis, evidence }) => list(`${username}: ${evidence}; matched by ${basis}`)),
      doubtful.length > 0 && 'In doubt, not acted on:',
      doubtful.slice(0, MAX_DOUBTFUL).map(({ username, why }) => list(`${username}: ${why}`)),
      rest > 0 && list(`${countText(rest, 'more', 'more')}; --json lists all.`),
    ),
  ];
}
