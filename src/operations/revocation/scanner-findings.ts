import { tokenValuesWithin } from './token-values.ts';

/** The scanners whose reports are recognized by their shape, and SARIF, which many scanners write. */
export type ScannerFormat =
  | 'gitleaks'
  | 'trufflehog'
  | 'github'
  | 'sarif'
  | 'trivy'
  | 'semgrep'
  | 'detect-secrets'
  | 'ggshield'
  | 'checkov'
  | 'gitlab'
  | 'other';

/** Where a scanner found a value, with possible secrets replaced by `[redacted]`. Null if not reported. */
export interface LeakPlace {
  readonly file: string | null;
  readonly commit: string | null;
  /** Counted from 1. */
  readonly line: number | null;
  readonly link: string | null;
}

export interface ScannerFinding {
  readonly format: ScannerFormat;
  /** The strings that contain the secret according to the scanner; empty if it names none. */
  readonly secrets: readonly string[];
  /** Whether the report hides the secret, so that nothing can be checked. */
  readonly hidden: boolean;
  readonly place: LeakPlace;
}

export type Fields = Readonly<Record<string, unknown>>;

/**
 * Recognizes one finding by the names of its fields: of gitleaks 7 (`offender`) and 8 (`RuleID`, `Secret`,
 * `Match`), TruffleHog 3 (`SourceMetadata`, `Raw`), GitHub secret scanning (REST alerts, the webhooks
 * `secret_scanning_alert` and `secret_scanning_alert_location`, which carry no secret, and the message to
 * partners).
 * @returns Null for anything else.
 */
export function readFinding(value: unknown): ScannerFinding | null {
  const fields = fieldsOf(value);
  if (fields === null) return null;
  if ('RuleID' in fields && 'Secret' in fields)
    return finding('gitleaks', [fields['Secret']], {
      file: fields['SymlinkFile'] === '' ? fields['File'] : (fields['SymlinkFile'] ?? fields['File']),
      commit: fields['Commit'],
      line: fields['StartLine'],
      link: fields['Link'],
    });
  // gitleaks 7.
  if ('offender' in fields && 'rule' in fields) {
    const { offender, file, commit, lineNumber: line, leakURL: link } = fields;
    return finding('gitleaks', [offender], { file, commit, line, link });
  }
  if ('SourceMetadata' in fields && ('Raw' in fields || 'DetectorName' in fields)) {
    return trufflehogFinding(fields);
  }
  const alert = fieldsOf(fields['alert']);
  if (alert !== null && 'secret_type' in alert) {
    return githubFinding(alert, fieldsOf(at(fields, 'location', 'details')));
  }
  if ('secret_type' in fields && ('locations_url' in fields || 'html_url' in fields || 'secret' in fields)) {
    return githubFinding(fields, fieldsOf(fields['first_location_detected']));
  }
  if ('token' in fields && 'type' in fields && 'url' in fields && 'source' in fields) {
    return finding('github', [fields['token']], { link: fields['url'] });
  }
  return null;
}

/**
 * Reads a result of SARIF 2.1.0 (section 3.27). Its snippets contain the secret if the scanner writes it;
 * gitleaks does, TruffleHog does not.
 * @returns Null for anything else.
 */
export function readSarifResult(value: unknown): ScannerFinding | null {
  const fields = fieldsOf(value);
  if (fields === null || !('message' in fields || 'locations' in fields)) return null;
  const locations = Array.isArray(fields['locations']) ? fields['locations'] : [];
  const physical = locations.map((location) => at(location, 'physicalLocation'));
  const snippets = physical.flatMap((location) => [
    at(location, 'region', 'snippet', 'text'),
    at(location, 'contextRegion', 'snippet', 'text'),
  ]);
  const message = at(fields, 'message', 'text');
  const inMessage = typeof message === 'string' && tokenValuesWithin(message).length > 0 ? [message] : [];
  const uri = at(physical[0], 'artifactLocation', 'uri');
  return finding('sarif', [...snippets, ...inMessage], {
    file: uri,
    line: at(physical[0], 'region', 'startLine'),
    commit: at(fields, 'partialFingerprints', 'commitSha'),
  });
}

/** Whether this is an error of GitHub's REST API: `gh api` writes it to the same place as alerts. */
export function isGithubError(value: unknown): boolean {
  const page = fieldsOf(value)?.['documentation_url'];
  return typeof page === 'string' && page.startsWith('https://docs.github.com/');
}

/** The metadata has one member, named after the source: `{ Data: { Git: { file, commit, line } } }`. */
function trufflehogFinding(fields: Fields): ScannerFinding {
  const data = fieldsOf(at(fields, 'SourceMetadata', 'Data')) ?? {};
  const [source] = Object.values(data).map(fieldsOf);
  return finding('trufflehog', [fields['Raw'], fields['RawV2']], {
    file: source?.['file'] ?? source?.['path'],
    commit: source?.['commit'],
    line: source?.['line'],
    link: source?.['link'],
  });
}

function githubFinding(alert: Fields, location: Fields | null): ScannerFinding {
  return finding('github', [alert['secret']], {
    file: location?.['path'],
    commit: location?.['commit_sha'],
    line: location?.['start_line'],
    link: alert['html_url'],
  });
}

/** The minimum length of a string to search for in places: shorter ones occur everywhere. */
const MIN_SECRET = 6;

/** A finding: hidden if each of these texts, which should contain the secret, is masked or missing. */
export function finding(
  format: ScannerFormat,
  texts: readonly unknown[],
  place: { readonly [Name in keyof LeakPlace]?: unknown },
): ScannerFinding {
  const given = texts.filter((text) => typeof text === 'string').filter((text) => text.trim() !== '');
  const secrets = given.filter((text) => !isMasked(text));
  return {
    format,
    secrets,
    hidden: secrets.length === 0,
    place: {
      file: textOrNull(place.file),
      commit: typeof place.commit === 'string' && COMMIT.test(place.commit) ? place.commit : null,
      line: Number.isSafeInteger(place.line) && Number(place.line) > 0 ? Number(place.line) : null,
      link: textOrNull(place.link),
    },
  };
}

const COMMIT = /^[0-9a-f]{7,64}$/i;

/**
 * A value masked by a scanner: `REDACTED`, a start with three dots (`gitleaks --redact=50`), asterisks, or
 * Semgrep's request to log in.
 */
function isMasked(text: string): boolean {
  return (
    /redacted|\[masked\]|^requires login$/i.test(text) ||
    /(?:\.\.\.|…)\s*$/.test(text) ||
    /\*{3}/.test(text) ||
    /^[x•]+$/i.test(text)
  );
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/**
 * Whether a scanner masked a value in this line. A banner of asterisks and the mask in a CI log do not match:
 * they have no label or are shorter.
 */
export function hidesValue(line: string): boolean {
  return HIDING.some((pattern) => pattern.test(line));
}

const HIDING: readonly RegExp[] = [
  /\bREDACTED\b|VALUE_SPECIFIED_IN_NO_LOG_PARAMETER/,
  /["'\w]\s*[:=]\s*["']?[^\s"'*•]{0,40}[*•]{5,}/,
  /[:=>]\s*(?:\\?["'])?[[<(](?:redacted|filtered|sensitive(?: value)?|secret-masked-on-purpose)[\])>]/i,
  // What scanners write for a finding without its value.
  /"(?:hashed_secret|secret_hash|truncatedSecret)"|"requires login"|"rule"\s*:\s*"secrets:|"SensitiveData:/,
  /\bSecret Type: |\bSECRET_DETECTION\b|\bto not contain \w+ encoded texts such as: /,
];

/** The maximum length of a displayed path or URL. */
const MAX_PLACE = 300;

/** A place that is safe to display: replaced if it contains one of these secrets or a likely token. */
export function shownPlace(place: LeakPlace, secrets: Iterable<string>): LeakPlace {
  const known = [...secrets].filter((secret) => secret.length >= MIN_SECRET);
  const shown = (text: string | null) => {
    if (text === null) return null;
    const forms = [text, decoded(text)];
    const isSecret = forms.some(
      (form) => tokenValuesWithin(form).length > 0 || known.some((secret) => form.includes(secret)),
    );
    return isSecret ? '[redacted]' : text.length > MAX_PLACE ? `${text.slice(0, MAX_PLACE)}…` : text;
  };
  return { ...place, file: shown(place.file), link: shown(place.link) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A JSON value's strings, each after its name, which may label a token. Skips nesting over 50 levels. */
export function* namedStrings(value: unknown, name = '', depth = 0): Generator<string> {
  if (typeof value === 'string') yield name === '' ? value : `${name}: ${value}`;
  else if (typeof value === 'object' && value !== null && depth < 50) {
    const isArray = Array.isArray(value);
    for (const [key, each] of Object.entries(value))
      yield* namedStrings(each, isArray ? name : key, depth + 1);
  }
}

/** The members of a JSON object; null for anything else. */
export function fieldsOf(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

/** The member at a path; undefined if there is none. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => fieldsOf(inner)?.[name], value);
}
