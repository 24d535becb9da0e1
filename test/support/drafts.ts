import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EntryDraft } from '../../src/operations/ports/audit-log.ts';
import type { Clock } from '../../src/operations/ports/clock.ts';

/** A clock that always returns the same time. */
export const stillClock: Clock = { now: () => new Date('2026-11-20T10:00:00.000Z') };

/** The run that drafts belong to unless told otherwise. */
export const RUN = '00000000-0000-4000-8000-000000000001';

export function draft(other: Partial<EntryDraft> = {}): EntryDraft {
  return {
    kind: 'note',
    operation: 'tokens.revoke',
    run: RUN,
    actor: { user: 'root', host: 'bastion' },
    target: { context: 'production', address: 'https://controller.example.org' },
    data: { text: 'a note' },
    ...other,
  };
}

/** Writes the configuration of a home folder. */
export function configure(home: string, text: string): void {
  mkdirSync(join(home, '.config/tokenctl'), { recursive: true });
  writeFileSync(join(home, '.config/tokenctl/tokenctl.yaml'), text);
}
