import type { Configuration } from '../../config/configuration.ts';
import { addContext, checkedContext, type NamedContext, requireFreeName } from '../../config/contexts.ts';
import { requireGroupNames } from '../../config/groups.ts';
import { absolutePath, type Environment } from '../../config/paths.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { type Report, report } from '../../reports/result.ts';
import { requireReadable } from '../readable-file.ts';
import { contextToJson } from './context-view.ts';
import type { CredentialFlags } from './credential-flags.ts';
import { requireNoCredential, takeCredential } from './credential-input.ts';
import type { DatabaseFlags } from './database-flags.ts';
import { takeDatabase } from './database-input.ts';

/** A context to be added. */
export interface ContextRequest {
  readonly configuration: Configuration;
  readonly environment: Environment;
  readonly name: string;
  readonly flags: CredentialFlags &
    DatabaseFlags & {
      readonly url?: string | undefined;
      readonly username?: string | undefined;
      readonly 'ca-file'?: string | undefined;
      readonly 'verify-ssl'?: boolean | undefined;
      readonly replace?: boolean | undefined;
      readonly component?: 'gateway' | 'controller' | undefined;
      readonly group?: readonly string[] | undefined;
    };
}

/**
 * Adds a context to the configuration file: everything is checked before a credential is asked for, and
 * the credential is kept before the context that refers to it is written.
 *
 * @throws TokenctlError `usage`, `configuration`
 */
export async function contextFlow(request: ContextRequest): Promise<Report> {
  const { configuration, name, flags } = request;
  const { file } = configuration;
  const groups = flags.group ?? [];
  requireFreeName(configuration, name, flags.replace === true);
  requireGroupNames(configuration, { context: name, groups });
  const outline = outlineOf(request);
  if (outline.database !== undefined) requireNoCredential(flags);
  else if (outline.caFile !== undefined) requireReadable(outline.caFile, 'The file of --ca-file');
  const context = outline.database === undefined ? await withCredential(outline, request) : outline;
  addContext(file, context, groups);
  const current = (configuration.currentContext ?? name) === name;
  return report({
    json: { ...contextToJson(context, current), file },
    text: () =>
      `Added context "${name}" to ${file}.\n` +
      (current ? '' : `To work in it: tokenctl context use ${name}, or --context ${name}.\n`) +
      `To check it: tokenctl context check ${name}\n`,
  });
}

/** The context that the flags mean, but for its credential. */
function outlineOf({ environment, name, flags }: ContextRequest): NamedContext {
  const { url, username, component, 'ca-file': caFile, 'verify-ssl': verifyTls } = flags;
  const database = takeDatabase(flags, environment);
  if (url === undefined && database === undefined) throw nowhere();
  return checkedContext(name, {
    ...(url !== undefined && { url }),
    ...(database !== undefined && { database }),
    ...(username !== undefined && { username }),
    ...(caFile !== undefined && { caFile: absolutePath(caFile, process.cwd(), environment) }),
    ...(verifyTls !== undefined && { verifyTls }),
    ...(component !== undefined && { component }),
  });
}

function nowhere(): TokenctlError {
  return new TokenctlError('usage', 'Nothing says where the controller is', {
    hint: 'Add --url for its REST API, or --database-file, --database-env or --database for its database',
  });
}

async function withCredential<Outline extends object>(
  outline: Outline,
  { configuration, environment, name, flags }: ContextRequest,
): Promise<Outline> {
  const credential = await takeCredential({
    flags,
    context: name,
    username: flags.username,
    configurationFile: configuration.file,
    environment,
  });
  return { ...outline, ...credential };
}
