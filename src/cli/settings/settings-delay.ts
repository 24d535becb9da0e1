import type { TargetDescription } from '../../operations/ports/target.ts';

/** How soon a changed setting holds. */
export type SettingsHold = TargetDescription['capabilities']['settingsHold'];

/** Says that a change takes a while to hold, as a line; nothing where it holds at once. */
export function delayText(holds: SettingsHold): string {
  return LINES[holds];
}

const LINES: Readonly<Record<SettingsHold, string>> = {
  at_once: '',
  within_a_minute:
    'A running controller reads its settings again after up to a minute: until then the old ones hold.\n',
  within_five_minutes:
    'A running gateway keeps its settings in a cache, five minutes by default: until then the old ones hold.\n',
};
