import { createHash } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Runtime } from '../../app/runtime.ts';
import { investigateFlow, ownWorkIn } from '../../cli/investigation/investigate-flow.ts';
import type { Environment } from '../../config/paths.ts';
import type { Investigation } from '../../domain/investigation/investigation.ts';
import { NOTHING_KNOWN } from '../../operations/incident/case-items.ts';
import { placeQuery } from '../command-line.ts';
import { type Problem, problemOf } from '../operations.ts';
import { inTurns, type Places } from '../places.ts';
import { CaseFiles } from './case-files.ts';
import { NO_WAYS, shownOf, summaryOf } from './shown-investigation.ts';

/** Concurrent investigations, of cases and of others each. */
const AT_ONCE = 2;
const KNOWN = { ...NOTHING_KNOWN, ways: NO_WAYS };

/** The subject: a user, or the owner of a token. */
const subject = {
  user: z.string().min(1).max(300).optional(),
  token: z.coerce.number().int().positive().optional(),
};
const subjectQuery = placeQuery.extend(subject);
export const investigateRequest = z.strictObject({
  place: z.string().max(300),
  ...subject,
  since: z.coerce.date(),
});

type Subject = z.infer<typeof subjectQuery>;

/** Begins investigations, and keeps by key which are in progress or failed: closing the page ends none. */
export function investigating(places: Places) {
  const inTurn = inTurns(AT_ONCE);
  const states = new Map<string, { readonly problem: Problem | null }>();
  return {
    /** Why the last one failed, null while it is in progress; null without one. */
    of: (key: string) => states.get(key) ?? null,
    /** @throws TokenctlError `busy` with this text if one is in progress; and what the investigation throws. */
    async begin(key: string, { busy, place, files, flags }: Asked): Promise<object> {
      if (states.get(key)?.problem === null) throw new TokenctlError('busy', busy);
      states.set(key, { problem: null });
      const investigate = async (runtime: Runtime) =>
        await investigateFlow({ runtime, flags: { ...flags, out: files.newInvestigation(new Date()) } });
      try {
        await inTurn(() => places.work(place, investigate));
        states.delete(key);
        return {};
      } catch (error) {
        states.set(key, { problem: problemOf(error) });
        throw error;
      }
    },
  };
}

interface Asked extends Pick<Parameters<typeof investigateFlow>[0], 'flags'> {
  readonly busy: string;
  readonly place: string;
  readonly files: CaseFiles;
}

export type Underway = ReturnType<ReturnType<typeof investigating>['of']>;

/** The investigations of a user or token without an incident; the items are those of the last one. */
export interface LooseInvestigations {
  readonly underway: Underway;
  readonly investigations: readonly ReturnType<typeof summaryOf>[];
  readonly last: ReturnType<typeof shownOf> | null;
}

/** Serves investigations without an incident. They are read-only, and stored like those of a case. */
export function serveInvestigations(app: FastifyInstance, { places }: { places: Places }): void {
  const underway = investigating(places);
  app.get('/api/investigations', async ({ query }): Promise<LooseInvestigations> => {
    const of = subjectQuery.parse(query);
    const key = keyOf(of);
    const files = filesOf(places.environment, key);
    const read = files
      .investigations()
      .map(({ name, path }) => ({ name, path, found: files.investigation(name) }));
    const last = read.at(-1)?.found;
    const shown = async (runtime: Runtime, found: Investigation) =>
      shownOf(found, { ...(await ownWorkIn(runtime, found)), ways: NO_WAYS });
    return {
      underway: underway.of(key),
      investigations: read.map(({ found, ...file }) => summaryOf(found, { ...file, ...KNOWN })),
      last: last === undefined ? null : await places.anywhere((runtime) => shown(runtime, last)),
    };
  });
  // Allowed with --read-only: it reads the controller, and writes to the console's folder.
  app.post('/api/investigations', { config: { readsOnly: true } }, async ({ body }) => {
    const { since, ...of } = investigateRequest.parse(body);
    const { place, user, token } = of;
    const key = keyOf(of);
    return await underway.begin(key, {
      ...{ busy: 'This investigation is in progress', place, files: filesOf(places.environment, key) },
      flags: { user, token, since: { at: since } },
    });
  });
}

/** The key of a subject in a context. @throws TokenctlError `usage` without a subject, or with two. */
function keyOf({ place, user, token }: Subject): string {
  if ((user === undefined) === (token === undefined)) {
    throw new TokenctlError('usage', 'Specify a user or a token to investigate');
  }
  return JSON.stringify([place, user ?? null, token ?? null]);
}

/** A name may have any characters, and two names must not share a folder. */
function filesOf(environment: Environment, key: string): CaseFiles {
  const digest = createHash('sha256').update(key).digest('hex').slice(0, 32);
  return new CaseFiles(environment, `investigation-${digest}`);
}
