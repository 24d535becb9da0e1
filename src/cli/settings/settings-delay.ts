import type { TargetDescription } from '../../operations/ports/target-description.ts';

/** How soon a changed setting holds. */
export type SettingsHold = TargetDescription['capabilities']['settingsHold'];

/** Says that a change takes a while to hold, as a line; nothing where it holds at once. */
export function delayText(holds: SettingsHold): string {
  return holds === 'at_once'
    ? ''
    : 'A running controller reads its settings again after up to a minute: until then the old ones hold.\n';
}
