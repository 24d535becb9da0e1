import { TokenctlError } from '../domain/errors.ts';
import type { ChangeFlags } from './flags.ts';
import { ask, canAsk } from './prompt.ts';

/** What is asked before a change. */
export interface Question {
  /** What would be done: finished lines, shown above the question. */
  readonly plan: string;
  /** What saying yes does, as a phrase: `revoke 12 tokens`. */
  readonly act: string;
  /** What has to be typed: something that cannot be typed without having read. */
  readonly type: string;
  /** How many tokens it is about, where it is about tokens. */
  readonly tokens?: number;
}

/** How a change is agreed to: by a flag given beforehand, or by an answer. */
export interface Consent {
  /** Whether somebody will be asked; otherwise it was agreed to beforehand, or nothing will be done. */
  readonly asks: boolean;
  /**
   * Shows what would be done, and returns once it was agreed to.
   *
   * @throws TokenctlError `not_confirmed` where the answer is another one, `interrupted` on Ctrl-C
   */
  confirm(question: Question): Promise<void>;
}

/**
 * Decides how to agree before anything is read or connected to: without a terminal, nobody can answer.
 *
 * @throws TokenctlError `usage` where there is neither a flag nor a terminal
 */
export function consentFrom(flags: ChangeFlags): Consent {
  if (flags.yes !== true && flags['dry-run'] !== true && !canAsk()) {
    throw new TokenctlError('usage', 'There is no terminal to confirm this on.', {
      hint: 'Add --dry-run to see what would be done, and --yes to do it without being asked.',
    });
  }
  return {
    asks: flags.yes !== true,
    async confirm({ plan, act, type }) {
      process.stderr.write(`${plan}\n`);
      if (flags.yes === true) return;
      const answer = await ask(`Type ${type} to ${act}, anything else to leave it: `);
      if (answer.trim() === type) return;
      throw new TokenctlError('not_confirmed', 'Not confirmed: nothing was changed.');
    },
  };
}
