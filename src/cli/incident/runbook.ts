import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { tickStep } from '../../operations/incident/runbook-steps.ts';
import { lines } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { titledLines, titleOf } from '../output/pages.ts';
import type { StepFlags } from './incident-flags.ts';
import { runbooks } from './incident-flags.ts';
import { filledMarkdown, type RunbookCase } from './runbook-document.ts';

/** What `incident runbook` prints with `--json`: the names, or one runbook. */
export type RunbookJson =
  | { readonly runbooks: readonly string[] }
  | {
      readonly name: string;
      /** In Markdown. */
      readonly text: string;
    };

/**
 * The result of `incident runbook`: a runbook, or the list of names.
 * @param root The root directory of the package.
 * @param known The values to fill in; null leaves the text unchanged.
 */
export async function runbookResult(
  root: string,
  name: string | undefined,
  known: RunbookCase | null = null,
): Promise<Report<RunbookJson>> {
  if (name === undefined) {
    const titled = runbooks.map(async (each) => ({
      name: each,
      title: titleOf(await runbookText(root, each)),
    }));
    return report({
      json: { runbooks },
      document: [
        titledLines(await Promise.all(titled)),
        lines('To print one: tokenctl incident runbook NAME'),
      ],
    });
  }
  const written = await runbookText(root, name);
  const text =
    known === null ? written : filledMarkdown(written, { ...known, isRestDown: name === 'controller-down' });
  return report({ json: { name, text }, text: () => text, verbatim: true });
}

function runbookText(root: string, name: string): Promise<string> {
  return readFile(join(root, 'docs/runbooks', `${name}.md`), 'utf8');
}

/** A step of a runbook: a numbered heading, and the Markdown under it. */
interface Step {
  readonly step: number;
  readonly title: string;
  readonly text: string;
}

/** The steps of a runbook. @param root The root directory of the package. */
export async function runbookSteps(root: string, name: string): Promise<readonly Step[]> {
  const parts = (await runbookText(root, name)).split(/^## /m).slice(1);
  return parts.flatMap((part) => {
    const [, number, title = '', text = ''] = /^(\d+)\. ([^\n]*)\n(.*)$/s.exec(part) ?? [];
    return number === undefined ? [] : { step: Number(number), title, text: text.trim() };
  });
}

/** What `incident step` prints with `--json`. */
export interface IncidentStepJson {
  readonly incident: string;
  readonly runbook: string;
  readonly step: number;
  readonly title: string;
  /** Whether it is marked as done now. */
  readonly done: boolean;
  /** False if it was already in that state. */
  readonly changed: boolean;
}

/** Marks a step of a runbook as done, or reverts that. Throws `usage` for an unknown step. */
export async function stepFlow(request: {
  readonly runtime: Runtime;
  readonly incident: string;
  readonly flags: StepFlags;
  readonly root: string;
}): Promise<Report<IncidentStepJson>> {
  const { runtime, flags, root } = request;
  const { runbook, step, undo = false } = flags;
  const steps = await runbookSteps(root, runbook);
  const found = steps.find((each) => each.step === step);
  if (found === undefined) {
    throw new TokenctlError('usage', `The runbook ${runbook} has no step ${step}`, {
      hint: `It has steps 1 to ${steps.length}: \`tokenctl incident runbook ${runbook}\`.`,
    });
  }
  const { title } = found;
  const { target: _target, ...change } = await runtime.change(flags);
  const { incident, changed } = await tickStep({
    ...change,
    incident: request.incident,
    step: { runbook, step, title },
    isDone: !undo,
  });
  const what = `step ${step} of ${runbook} (${title}) for ${incident}`;
  const act = undo ? 'Undid' : 'Ticked off';
  return report({
    json: { incident, runbook, step, title, done: !undo, changed },
    document: [
      lines(changed ? `${act} ${what}.` : `Nothing to do: ${what} is ${undo ? 'not ' : ''}marked as done.`),
    ],
  });
}
