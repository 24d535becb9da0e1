import { TokenctlError } from '../../domain/errors.ts';
import type { AuditFormat } from '../../reports/audit-result.ts';

/** The flags of an audit that name a file that it reads or writes. */
interface FileFlags {
  readonly output?: string | undefined;
  readonly baseline?: string | undefined;
  readonly 'write-baseline'?: string | undefined;
}

/** The audit that they belong to. */
interface AuditOf {
  readonly context: string;
  /** Whether other contexts are audited as well. */
  readonly several: boolean;
  readonly format: AuditFormat;
}

/** Stands in a file's name for that of the context. */
const CONTEXT = '{context}';

/**
 * The flags of an audit for one context: in the names of files `{context}` becomes the context's.
 *
 * @throws TokenctlError `usage` where several contexts would share a file, or a document that holds one.
 */
export function filesPerContext<Flags extends FileFlags>(
  flags: Flags,
  { context, several, format }: AuditOf,
): Flags {
  const names = ['output', 'baseline', 'write-baseline'] as const;
  const given = names.flatMap((name) => (flags[name] === undefined ? [] : [{ name, path: flags[name] }]));
  const shared = several ? given.find(({ path }) => !path.includes(CONTEXT)) : undefined;
  if (shared !== undefined) throw oneForEach(`--${shared.name}`, shared.path);
  if (several && flags.output === undefined && format !== 'table' && format !== 'json') {
    throw new TokenctlError('usage', `A ${format} report holds one context, and several are audited`, {
      hint: `Add --output 'audit-${CONTEXT}.${format}': it writes a file for each.`,
    });
  }
  const own = given.map(({ name, path }) => [name, path.replaceAll(CONTEXT, context.replace('/', '+'))]);
  return { ...flags, ...Object.fromEntries(own) };
}

function oneForEach(flag: string, path: string): TokenctlError {
  return new TokenctlError('usage', `${flag} ${path} names one file, and several contexts are audited`, {
    hint: `Put ${CONTEXT} into its name: each context has a file of its own.`,
  });
}
