import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Selector } from '../../domain/selector.ts';
import { unreadSessions } from '../access/cached-sessions.ts';
import type { Change, OperationRun, StepReport, StepResult } from '../journal/operation-run.ts';
import type { KnownSettings } from '../scope/known-settings.ts';

/** A file that is being written, with mode 0600. */
export interface SnapshotFile {
  readonly path: string;
  write(text: string): Promise<void>;
  /** Moves it into place, durably; returns its SHA-256 (hex). Throws `configuration`; no file exists then. */
  commit(): Promise<string>;
  /** Leaves no file behind. */
  discard(): Promise<void>;
}

export interface SnapshotFiles {
  /** Creates a file such as `inc-1a2b3c4d-production-20261120T100000Z.jsonl`. Throws `configuration`. */
  create(name: string): Promise<SnapshotFile>;
}

/** How much activity is included, in milliseconds: the activity stream keeps all of it, and time is short. */
const RECENT = 60 * 60 * 1000;

export interface Snapshot {
  readonly incident: string;
  readonly selector: Selector | null;
  /** The original settings, or why they could not be read. */
  readonly settings: KnownSettings;
  readonly files: SnapshotFiles;
}

/**
 * Writes the state before anything is revoked, one JSON document per line: a header, the settings, the users,
 * the selected access tokens, the refresh tokens and sessions if the target lists them, and the activity of
 * the last hour. Contains no secrets. Parts that may not be read are omitted and named. The log gets the
 * SHA-256.
 * @throws TokenctlError as {@link OperationRun.step}.
 */
export function takeSnapshot(work: OperationRun, snapshot: Snapshot): Promise<StepReport> {
  const { incident, files } = snapshot;
  const { clock, description } = work.change;
  return work.step({
    name: 'snapshot',
    title: 'The snapshot',
    common: { incident },
    act: async () => {
      const stamp = clock
        .now()
        .toISOString()
        .replace(/[-:]|\.\d+/g, '');
      // Several contexts share an incident's id and a folder.
      const context = description.context.replace(/[^\w.-]/g, '+');
      const file = await files.create(`${incident}-${context}-${stamp}.jsonl`);
      try {
        return await written(file, work.change, snapshot);
      } catch (error) {
        await file.discard();
        throw error;
      }
    },
  });
}

async function written(
  file: SnapshotFile,
  { target, clock, description }: Change,
  { selector, incident, settings }: Snapshot,
): Promise<StepResult> {
  const { context, address, dialect, version } = description;
  const at = clock.now();
  const counts: Record<string, number> = {};
  const missing: string[] = [];
  await file.write(line('snapshot', { incident, at, context, address, dialect, version }));
  const leaveOut = async (kind: string, { message }: TokenctlError) => {
    missing.push(kind);
    await file.write(line('missing', { part: kind, why: message }));
  };
  const each = async (kind: string, rows: () => AsyncIterable<object>) => {
    try {
      let count = 0;
      for await (const row of rows()) {
        await file.write(line(kind, row));
        count += 1;
      }
      counts[kind] = count;
    } catch (error) {
      const isMissing = error instanceof TokenctlError && MAY_BE_MISSING.has(error.code);
      if (!isMissing) throw error;
      await leaveOut(kind, error);
    }
  };
  if (settings.values === null) await leaveOut('settings', settings.error);
  else {
    await file.write(line('settings', settings.values));
    counts['settings'] = 1;
  }
  await each('user', () => target.users.list());
  if (selector !== null) await each('access_token', () => target.tokens(selector));
  const { refreshTokens, sessions } = target;
  if (refreshTokens) await each('refresh_token', () => refreshTokens.list({ states: ['live', 'orphaned'] }));
  if (sessions) await each('session', () => sessions.list({ all: true }));
  const unread = unreadSessions(description);
  if (sessions && unread !== undefined) await leaveOut('cached_session', unread);
  await each('activity', () => target.activity.list({ since: new Date(at.getTime() - RECENT), until: at }));
  const sha256 = await file.commit();
  const left =
    missing.length === 0 ? '' : ` Not included because they cannot be read: ${missing.join(', ')}.`;
  return {
    result: 'done',
    message: `Saved the previous state to ${file.path} (SHA-256 ${sha256}).${left}`,
    data: { file: file.path, sha256, counts, missing },
  };
}

/** Errors that omit a part from the snapshot: it must not delay the closing of access paths. */
const MAY_BE_MISSING: ReadonlySet<string> = new Set(['permission_refused', 'unsupported', 'not_found']);

function line(kind: string, row: object): string {
  return `${JSON.stringify({ kind, ...row })}\n`;
}
