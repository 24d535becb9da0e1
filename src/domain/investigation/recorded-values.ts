import { isDeepStrictEqual } from 'node:util';
import { words } from '@tokenctl/common/text.ts';

/** Replaces a secret within a value. */
const HIDDEN = '[hidden]';
/** The maximum length of a value's text that is kept, in characters. */
const MAX_TEXT = 400;
/** The maximum depth to which a value is read. */
const MAX_DEPTH = 8;

/** Names of fields, settings and variables whose values may be secrets. */
const SECRET_NAME =
  /passw(or)?d|passphrase|secret|token|credential_data|private|(^|[^a-z])key(s|_?data)?$|apikey|auth(orization)?$|^inputs$|^injectors$|cookie|cert(ificate)?$|vault|become_pass/i;
/** Names that match, but contain an amount, a switch or a reference. */
const NO_SECRET_NAME =
  /^(ask_|.*_enabled$|.*expire_seconds$|.*_cookie_age$|.*_per_|.*allow_)|public_key|^webhook_credential$|^credential$/i;

/** The controller's replacements for a secret. */
const MASKS: readonly unknown[] = ['hidden', '************', '$encrypted$'];

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !NO_SECRET_NAME.test(name);
}

/** Whether the controller itself hides a value, or part of it: it can be neither compared nor restored. */
export function isMasked(value: unknown): boolean {
  if (MASKS.includes(value)) return true;
  return typeof value === 'string'
    ? value.includes('$encrypted$')
    : JSON.stringify(value ?? null).includes('$encrypted$');
}

/**
 * A value of an entry in printable form: values whose names may mean secrets and credentials in URLs are
 * replaced, and long text is truncated. Undefined for a value that is hidden as a whole.
 */
export function printableValue(field: string, value: unknown): unknown {
  if (MASKS.includes(value)) return undefined;
  // A switch, a number or nothing is not secret, and shows the change.
  if (value === null || value === '' || typeof value === 'boolean') return value;
  if (isSecretName(field)) return undefined;
  return withoutSecrets(field, parsed(value), 0);
}

/** JSON in a text, as variables are recorded; any other value unchanged. */
function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[{[]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

function withoutSecrets(name: string, value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return HIDDEN;
  // The database has the ciphertext, the API only the mask.
  if (typeof value === 'string' && value.startsWith('$encrypted$')) return HIDDEN;
  if (typeof value === 'string') return cut(withoutCredentials(name, value));
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.slice(0, 50).map((each) => withoutSecrets(name, each, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 50)
      .map(([key, each]) => {
        const isEmpty = each === null || each === '' || typeof each === 'boolean';
        return [key, isSecretName(key) && !isEmpty ? HIDDEN : withoutSecrets(key, each, depth + 1)];
      }),
  );
}

/** Removes credentials from lines of YAML, named values, URLs, options and headers, and likely keys. */
function withoutCredentials(name: string, text: string): string {
  const headers = text.replace(/\b(bearer|basic|token)\s+[\w.~+/=-]{8,}/gi, `$1 ${HIDDEN}`);
  const lines = withoutNamedValues(headers)
    .replace(/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@]+@/gi, `$1${HIDDEN}@`)
    .replace(/(\s--?[\w-]{0,40}(?:pass|secret|token|key)[\w-]{0,40}\s+)(?!-)\S+/gi, `$1${HIDDEN}`)
    .replace(/(\s(?:-u|--user)[\s=]+["']?[^\s:"']{1,80}:)[^\s"']+/g, `$1${HIDDEN}`)
    .replace(/-----BEGIN [^-]+-----[\s\S]*?(-----END [^-]+-----|$)/g, HIDDEN);
  // The path of a webhook URL is often the secret.
  return /^(url|.*webhook.*|slack.*)$/i.test(name)
    ? lines.replace(/\b(https?:\/\/[^\s/?#]+)[/?#][^\s]+/gi, '$1/…')
    : lines;
}

/** A line of YAML or of an INI file: indent, quote, key, colon, value. */
const LINE = /^(\s*(?:-\s+)*)(["']?)([\w.-]{1,100})\2(\s*[:=](?:\s+|$|(?=\S)))(.*)$/;
/** A name with its value within a line. */
const NAMED = /(["']?)\b([\w.-]{1,100})\1(\s{0,5}[:=]\s{0,5})("[^"]*"|'[^']*'|[^\s&"',}\]]+)/g;

/** Replaces the values of possibly secret names, including their continuation lines, and within lines. */
function withoutNamedValues(text: string): string {
  let hidden: number | null = null;
  const kept: string[] = [];
  for (const line of text.split('\n')) {
    const indent = line.search(/\S/);
    // A list may begin in the column of its name.
    if (hidden !== null && (indent < 0 || indent > hidden || (indent === hidden && /^\s*-\s/.test(line))))
      continue;
    const [, before = '', quote = '', key = '', colon = '', value = ''] = LINE.exec(line) ?? [];
    const isHidden = key !== '' && isSecretName(key) && !/^(true|false|null|''|"")$/i.test(value.trim());
    hidden = isHidden ? before.length : null;
    kept.push(
      isHidden
        ? `${before}${quote}${key}${quote}${colon}${HIDDEN}`
        : line.replace(NAMED, (whole, _quote, each: string) =>
            isSecretName(each) ? whole.replace(/([:=]\s*)[\s\S]+$/, `$1${HIDDEN}`) : whole,
          ),
    );
  }
  return kept.join('\n');
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
}

/** Fields that contain the id of another object; the activity stream records them as `name-id`. */
const REFERENCES: ReadonlySet<string> = new Set(
  words(`inventory project credential organization execution_environment unified_job_template
    webhook_credential default_environment source_project workflow_job_template instance_group
    job_template credential_type signature_validation_credential`),
);

export function isReference(field: string): boolean {
  return REFERENCES.has(field);
}

/** The id at the end of a recorded reference (`Demo Project-6`); null if there is none. */
export function referenceId(value: unknown): number | null {
  if (typeof value === 'number') return value;
  const [, digits] = typeof value === 'string' ? (/-(\d{1,15})$/.exec(value) ?? []) : [];
  return digits === undefined ? null : Number(digits);
}

/** Whether a recorded value equals an object's current one, in the form of the API or of a table. */
export function isSameValue(field: string, recorded: unknown, current: unknown): boolean {
  if (isReference(field)) return referenceId(recorded) === referenceId(current);
  return isDeepStrictEqual(normalized(recorded), normalized(current));
}

/** A missing value is null, an empty text or an empty object. */
function normalized(value: unknown): unknown {
  const plain = parsed(value);
  if (plain === null || plain === undefined || plain === '' || plain === '---') return null;
  if (typeof plain === 'string') return plain.trim();
  if (typeof plain === 'object' && Object.keys(plain).length === 0) return null;
  return plain;
}
