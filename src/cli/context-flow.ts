import type { Configuration } from '../config/configuration.ts';
import { addContext, checkContext, type NamedContext, requireFreeName } from '../config/contexts.ts';
import { absolutePath, type Environment } from '../config/paths.ts';
import { contextToJson } from './context-view.ts';
import type { CredentialFlags } from './credential-flags.ts';
import { takeCredential } from './credential-input.ts';
import { requireReadable } from './readable-file.ts';
import { type Report, report } from './result.ts';

/** A context to be added. */
export interface ContextRequest {
  readonly configuration: Configuration;
  readonly environment: Environment;
  readonly name: string;
  readonly flags: CredentialFlags & {
    readonly url: string;
    readonly username?: string | undefined;
    readonly 'ca-file'?: string | undefined;
    readonly 'verify-ssl'?: boolean | undefined;
    readonly replace?: boolean | undefined;
  };
}

/**
 * Adds a context to the configuration file: everything is checked before a credential is asked for, and
 * the credential is kept before the context that refers to it is written.
 *
 * @throws TokenctlError `usage`, `configuration`
 */
export async function contextFlow({
  configuration,
  environment,
  name,
  flags,
}: ContextRequest): Promise<Report> {
  const { file } = configuration;
  requireFreeName(configuration, name, flags.replace === true);
  const outline: NamedContext = {
    name,
    url: flags.url,
    ...(flags.username !== undefined && { username: flags.username }),
    ...(flags['ca-file'] !== undefined && {
      caFile: absolutePath(flags['ca-file'], process.cwd(), environment),
    }),
    ...(flags['verify-ssl'] !== undefined && { verifyTls: flags['verify-ssl'] }),
  };
  checkContext(outline);
  if (outline.caFile !== undefined) requireReadable(outline.caFile, 'The file of --ca-file');
  const credential = await takeCredential({
    flags,
    context: name,
    username: flags.username,
    configurationFile: file,
    environment,
  });
  const context = { ...outline, ...credential };
  addContext(file, context);
  const current = (configuration.currentContext ?? name) === name;
  return report({
    json: { ...contextToJson(context, current), file },
    text: () =>
      `Added context "${name}" to ${file}.\n` +
      (current ? '' : `To work in it: tokenctl context use ${name}, or --context ${name}.\n`) +
      `To check it: tokenctl context check ${name}\n`,
  });
}
