import type { Lock } from '../../domain/incident/incident.ts';
import type { Work } from '../journal/operation-run.ts';
import type { AuthenticationSettings } from '../ports/target.ts';
import { changeTo, settingNamed } from './setting-locks.ts';
import { type StepReport, takeStep } from './step.ts';

/** Settings that a step sets. */
export interface SettingsStep {
  readonly name: string;
  readonly title: string;
  readonly incident: string;
  /** What is to be set, from the settings as they are when the step's turn comes. */
  readonly locks: (settings: AuthenticationSettings) => readonly Lock[];
}

/**
 * Sets settings in one step and reads them again. The intent states what was there before, in the same moment:
 * that is what is restored in the end.
 *
 * @throws TokenctlError as {@link takeStep}; what reading the settings throws before anything was recorded.
 */
export async function lockSettings(work: Work, step: SettingsStep): Promise<StepReport | null> {
  const { name, title, incident } = step;
  if (work.over) return { step: name, result: 'not_tried', message: `${title}: not tried.` };
  const before = await work.target.settings.read();
  const locks = step.locks(before);
  if (locks.length === 0) return null;
  const open = locks.filter(({ before: found, locked }) => found !== locked);
  return await takeStep(work, {
    name,
    title,
    common: { incident },
    intent: { locks },
    act: async () => {
      const values = open.map(({ name: setting, locked: value }) => ({ name: setting, value }));
      if (open.length > 0) await work.target.settings.write(changeTo(values, before));
      const after = await work.target.settings.read();
      const left = locks.filter((lock) => settingNamed(after, lock.name) !== lock.locked);
      const now = Object.fromEntries(locks.map((lock) => [lock.name, settingNamed(after, lock.name)]));
      return {
        result: left.length > 0 ? 'partly' : open.length > 0 ? 'done' : 'unchanged',
        message: settingsText(locks, { open: open.length, left }),
        data: { now },
      };
    },
  });
}

function settingsText(
  locks: readonly Lock[],
  { open, left }: { readonly open: number; readonly left: readonly Lock[] },
): string {
  if (left.length > 0) {
    return `The target took the change, and reads otherwise: ${left.map(({ name }) => name).join(', ')}.`;
  }
  const values = locks.map(({ name, locked }) => `${name} ${locked === false ? 'off' : locked}`).join(', ');
  return open > 0 ? `Set ${values}.` : `${values}: set already.`;
}
