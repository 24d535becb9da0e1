import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import { fileLayer, mergeLayers } from '../../src/config/layers.ts';
import type { Environment } from '../../src/config/paths.ts';
import { contextSchema, type DatabaseContext, type RestContext } from '../../src/config/schema.ts';
import { invalidSettings, plainIssue } from '../../src/config/setting-errors.ts';
import { file } from '../../src/config/value-schemas.ts';

const command = z.array(z.string().min(1)).min(1);
const consent = z.boolean().default(false);
const restContext = contextSchema.refine((context): context is RestContext => context.url !== undefined, {
  error: 'must have a url',
});
const databaseContext = contextSchema.refine(
  (context): context is DatabaseContext => context.database !== undefined,
  { error: 'must have a database' },
);

const schema = z.strictObject({
  /** A context of tokenctl.yaml for the REST API, of a superuser. */
  rest: restContext,
  /** A context of tokenctl.yaml for the database of the same installation. */
  database: databaseContext.optional(),
  /** The file with a controller's SECRET_KEY. */
  secretKey: file.optional(),
  /** Programs of the installation, with their first arguments. */
  commands: z
    .strictObject({
      /** Runs a management command, whose name and arguments follow. */
      manage: command.optional(),
      /** Brings the installation back to how it was before. */
      reset: command.optional(),
    })
    .prefault({}),
  /** An installation with more than these is refused. */
  limits: z
    .strictObject({
      users: z.number().int().min(1).default(50),
      tokens: z.number().int().min(1).default(200),
    })
    .prefault({}),
  /** What the caller agrees to. Without `ownObjects`, nothing is done. */
  destroy: z
    .strictObject({
      ownObjects: consent,
      settings: consent,
      expiredTokens: consent,
      allAccess: consent,
      databaseRoles: consent,
      activityStream: consent,
    })
    .prefault({}),
});

/** An installation as its caller describes it; paths are absolute. */
export type Description = z.output<typeof schema> & {
  /** The file that it was read from. */
  readonly file: string;
};

/** What a caller can agree to. */
export type Consent = keyof Description['destroy'];

/**
 * Reads the description of an installation.
 *
 * @throws TokenctlError `configuration` with each problem and its line, also where the caller does not agree to anything.
 */
export function readDescription(path: string, environment: Environment): Description {
  const described = resolve(path);
  if (!existsSync(described)) {
    throw new TokenctlError('configuration', `The description ${path} does not exist.`, {
      hint: 'Run `npm run test:acceptance` without a file for an example.',
    });
  }
  const layers = [fileLayer({ path: described, named: true }, environment)];
  const checked = schema.safeParse(mergeLayers(layers), { error: plainIssue });
  if (!checked.success) throw invalidSettings(checked.error.issues, { schema, layers });
  if (!checked.data.destroy.ownObjects) {
    throw new TokenctlError('configuration', `${path}: destroy.ownObjects is not true.`, {
      hint: 'The tests make users, tokens, applications and more, and delete them again. Agree to that, or nothing is done.',
    });
  }
  return { ...checked.data, file: described };
}

/** Where a run keeps what it has to put back, until it did: beside the description. */
export function unfinishedFile({ file }: Description): string {
  return resolve(dirname(file), `.${basename(file)}.unfinished`);
}

/** Where tokenctl works while a run lasts: beside the description, so that the next run finds what a killed one left. */
export function homesFolder({ file }: Description): string {
  return resolve(dirname(file), `.${basename(file)}.homes`);
}

/** What the program prints without a file. */
export const EXPLANATION = `\
Runs the acceptance tests of tokenctl against a test installation of a controller or gateway:

  npm run test:acceptance -- FILE                 run all suites that the description has enough for
  npm run test:acceptance -- FILE --list          say which these are, and change nothing
  npm run test:acceptance -- FILE --suite NAME    run only this suite; may be repeated

FILE describes the installation. Secrets stay in files with mode 0600 or in environment variables. An example:

  rest:                                    # a context for the REST API, as in tokenctl.yaml
    url: https://awx-test.example.org
    username: admin                        # a superuser
    password: { file: admin.password }     # or { env: VARIABLE }; or token: instead of both
    caFile: ca.pem                         # if its certificate needs one
  database:                                # optional: a context for its database
    database: { file: database.url }
  secretKey: { file: secret.key }          # optional: SECRET_KEY of a controller, for new secrets of applications
  commands:                                # optional
    manage: [kubectl, exec, deploy/awx-web, --, awx-manage]
    reset: [./reset-test-installation]     # run at the end of what destroys everyone's access
  limits:                                  # an installation with more is taken for production, and refused
    users: 50
    tokens: 200
  destroy:                                 # what you agree to; only the first is required
    ownObjects: true                       # makes what is named tokenctl-acceptance-…, and deletes it again
    settings: false                        # changes authentication settings for everyone, and puts them back
    expiredTokens: false                   # deletes everyone's expired tokens
    allAccess: false                       # ends everyone's tokens and sessions
    databaseRoles: false                   # makes roles of the database server, and drops them
    activityStream: false                  # deletes entries of the activity stream about what the run made

Everything that a run makes is removed at its end. If it is killed, the next run removes what remained.
docs/acceptance.md says more.
`;
