import { readFileSync } from 'node:fs';
import { TokenctlError } from '../domain/errors.ts';
import { lineOf, parseConfiguration } from './file-layer.ts';
import { invalidSettings } from './invalid-settings.ts';
import { isMapping } from './layer.ts';
import { absolutePath, type Environment } from './paths.ts';
import { plainIssue } from './plain-issue.ts';
import { type PolicySettings, policySchema } from './policy-schema.ts';

/**
 * Reads a policy from a file of its own, which has the shape of the configuration's `policy` section and
 * takes its place.
 *
 * @throws TokenctlError `configuration` where it cannot be read, or says what no rule takes, with the line
 */
export function policyFile(flag: string, environment: Environment): PolicySettings {
  const path = absolutePath(flag, process.cwd(), environment);
  const { document, lines } = parseConfiguration(readPolicy(path), path);
  const policy: unknown = document.toJS() ?? {};
  if (!isMapping(policy)) {
    throw new TokenctlError('configuration', `${path}: must hold a mapping of rules.`);
  }
  const checked = policySchema.safeParse(policy, { error: plainIssue });
  if (checked.success) return checked.data;
  const issues = checked.error.issues.map((issue) => ({ ...issue, path: ['policy', ...issue.path] }));
  const layer = {
    values: { policy },
    locate: (setting: readonly PropertyKey[]) => `${path}:${lineOf(document, lines, setting.slice(1))}`,
  };
  throw invalidSettings(issues, [layer]);
}

function readPolicy(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new TokenctlError('configuration', `The policy file ${path} ${why}.`, { cause });
  }
}
