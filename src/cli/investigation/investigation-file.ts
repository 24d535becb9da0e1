import { accessSync, constants, existsSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import { type Investigation, itemGroups, itemStates } from '../../domain/investigation/investigation.ts';
import { severities } from '../../domain/policy/rule.ts';
import { jsonIn, requireReadable } from '../flags/flags.ts';

/** The maximum file size, in bytes: 20,000 items take about 40 MB. */
const MAX_BYTES = 128 * 1024 * 1024;

const text = z.string();
const actor = z.looseObject({ id: z.number().nullable(), username: text });
const object = z.looseObject({ kind: text, id: z.number().nullable(), name: text.nullable() });

const item = z.looseObject({
  id: text,
  group: z.enum(itemGroups),
  act: z.enum(['made', 'changed', 'granted', 'linked', 'removed', 'deleted', 'launched']),
  object,
  other: object.nullable(),
  role: z.looseObject({ id: z.number().nullable(), field: text.nullable() }).nullable(),
  link: text,
  summary: text,
  by: z.array(actor),
  first: text,
  last: text,
  entries: z.array(z.number()),
  entryCount: z.number(),
  state: z.enum(itemStates),
  stateReason: text.nullable(),
  changes: z.array(z.looseObject({ field: text, hidden: z.boolean(), entry: z.number() })),
  changedSince: z.array(z.looseObject({ at: text, by: actor.nullable(), fields: z.array(text) })),
  findings: z.array(z.looseObject({ rule: text, severity: z.enum(severities), message: text })),
  risk: z.enum(severities).nullable(),
  remedy: z.looseObject({ kind: text, text }).nullable(),
});

/** Everything read from a file. */
const file = z.looseObject({
  format: z.literal('tokenctl-investigation'),
  version: z.literal(1),
  madeAt: z.iso.datetime(),
  target: z.looseObject({
    context: text,
    address: text,
    installUuid: text.nullable(),
    version: text.nullable(),
  }),
  as: text,
  visibility: z.looseObject({ kind: z.enum(['all', 'part']) }),
  incident: text.nullable(),
  subject: z.discriminatedUnion('kind', [
    z.looseObject({ kind: z.literal('user'), name: text }),
    z.looseObject({ kind: z.literal('token'), id: z.number(), user: text }),
    z.looseObject({ kind: z.literal('application'), name: text, users: z.array(text) }),
  ]),
  since: z.iso.datetime(),
  until: z.iso.datetime(),
  chain: z.array(
    z.looseObject({
      user: actor,
      by: actor.nullable(),
      how: z.enum(['subject', 'made', 'password_set']),
      through: text.nullable(),
      since: z.iso.datetime(),
      exists: z.boolean().nullable(),
    }),
  ),
  items: z.array(item),
  mayHaveRead: z.array(text),
  unattributed: z.array(z.looseObject({ at: text, operation: text, object })),
  stream: z.looseObject({ read: z.number(), oldest: text.nullable() }),
  limits: z.array(z.looseObject({ text })),
});

/** Saves an investigation to a new file that only its owner can read. Throws `configuration` if it cannot. */
export function writeInvestigationFile(path: string, investigation: Investigation): void {
  try {
    const text = `${JSON.stringify(investigation, null, 2)}\n`;
    writeFileSync(path, text, { flag: 'wx', mode: 0o600, flush: true });
  } catch (cause) {
    throw notWritten(path, cause);
  }
}

/** Checks that an investigation can be saved to a file. Throws as {@link writeInvestigationFile}. */
export function requireNewFile(path: string): void {
  try {
    accessSync(dirname(path), constants.W_OK);
  } catch (cause) {
    throw notWritten(path, cause);
  }
  if (existsSync(path)) throw notWritten(path, { code: 'EEXIST' });
}

function notWritten(path: string, cause: unknown): TokenctlError {
  const { code } = cause as NodeJS.ErrnoException;
  return new TokenctlError(
    'configuration',
    code === 'EEXIST'
      ? `The --out file ${path} already exists`
      : `Cannot write the investigation to ${path} (${code})`,
    { hint: 'Specify a new file in a directory that you can write to.', cause },
  );
}

/** Reads a saved investigation. Throws `configuration` if the file cannot be read or is not one. */
export function readInvestigationFile(path: string): Investigation {
  requireReadable(path, 'The file of --from');
  const saved = statSync(path).size > MAX_BYTES ? undefined : file.safeParse(jsonIn(path)).data;
  if (saved !== undefined) return saved as unknown as Investigation;
  throw new TokenctlError('configuration', `${path} is not an investigation of this version of tokenctl`, {
    hint: 'Create one with `tokenctl incident investigate --out FILE`.',
  });
}
