import type { Runtime } from '../../app/runtime.ts';
import { contextOf } from '../../config/contexts.ts';
import { ENVIRONMENT_CONTEXT } from '../../config/schema.ts';
import { shellWord } from '../../domain/remedies.ts';

/** How to use a token in a context from now on; empty if there is nothing to do. */
export function useText(
  { configuration }: Runtime,
  { name: label, file }: { name: string; file: string },
): string {
  // A component of a platform is named after the context.
  const [name = ''] = label.split('/');
  if (name === ENVIRONMENT_CONTEXT) {
    return 'To use it: unset CONTROLLER_USERNAME CONTROLLER_PASSWORD, and set CONTROLLER_OAUTH_TOKEN (with AAP_HOSTNAME, AAP_TOKEN) to the contents of the file.';
  }
  const context = contextOf(configuration, name);
  if (context.database !== undefined) return '';
  const { url, caFile, verifyTls, insecure, component, databaseContext } = context;
  if (typeof databaseContext === 'object')
    return `To use it in the context ${name}: replace its username and password with token: { file: ${file} }`;
  const words = [
    ...['tokenctl', 'context', 'add', name, '--replace', '--url', url, '--token-file', file],
    ...(caFile === undefined ? [] : ['--ca-file', caFile]),
    ...(verifyTls === false ? ['--no-verify-ssl'] : []),
    ...(insecure === true ? ['--insecure'] : []),
    ...(component === undefined ? [] : ['--component', component]),
    ...(databaseContext === undefined ? [] : ['--database-context', databaseContext]),
  ];
  return `To use it in the context ${name}: ${words.map(shellWord).join(' ')}`;
}
