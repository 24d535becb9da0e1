import { randomBytes } from 'node:crypto';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readLeaked } from '../../../../src/operations/revocation/leaked-input.ts';

const VALUE = 'abcdefghijABCDEFGHIJ0123456789';
const OTHER = 'ZZZZZefghijABCDEFGHIJ012345678';
const COMMIT = '3f786850e387550fdab836ed7e6dc881de23001b';

/** A finding as gitleaks 8 writes it. */
function gitleaks(fields: object = {}) {
  return {
    RuleID: 'generic-api-key',
    Description: 'Detected a Generic API Key',
    StartLine: 12,
    EndLine: 12,
    StartColumn: 8,
    EndColumn: 52,
    Match: `TOKEN = "${VALUE}"`,
    Secret: VALUE,
    File: 'deploy/run.sh',
    SymlinkFile: '',
    Commit: COMMIT,
    Entropy: 4.9,
    Author: 'A',
    Email: 'a@example.org',
    Date: '2026-11-02T10:00:00Z',
    Message: 'Add deployment',
    Tags: [],
    Fingerprint: `${COMMIT}:deploy/run.sh:generic-api-key:12`,
    ...fields,
  };
}

/** A finding as TruffleHog 3 prints it with --json. */
function trufflehog(fields: object = {}) {
  const Git = {
    commit: COMMIT,
    file: 'ci/env',
    email: 'a',
    repository: 'https://git.example.org/x',
    line: 4,
  };
  return {
    SourceMetadata: { Data: { Git } },
    SourceID: 1,
    SourceType: 16,
    SourceName: 'trufflehog - git',
    DetectorType: 15,
    DetectorName: 'CustomRegex',
    DecoderName: 'PLAIN',
    Verified: false,
    Raw: VALUE,
    RawV2: '',
    Redacted: 'abcd***',
    ExtraData: null,
    StructuredData: null,
    ...fields,
  };
}

/** An alert of GitHub's REST API. */
function alert(fields: object = {}) {
  return {
    number: 42,
    url: 'https://api.github.com/repos/o/r/secret-scanning/alerts/42',
    html_url: 'https://github.com/o/r/security/secret-scanning/42',
    locations_url: 'https://api.github.com/repos/o/r/secret-scanning/alerts/42/locations',
    state: 'open',
    secret_type: 'custom_pattern',
    secret: VALUE,
    first_location_detected: { path: 'env.yml', start_line: 7, end_line: 7, commit_sha: COMMIT },
    ...fields,
  };
}

/** SARIF 2.1.0 as gitleaks writes it. */
function sarif(results: readonly object[]) {
  const driver = { name: 'gitleaks', semanticVersion: 'v8.0.0', rules: [{ id: 'generic-api-key' }] };
  const $schema = 'https://json.schemastore.org/sarif-2.1.0.json';
  return { $schema, version: '2.1.0', runs: [{ tool: { driver }, results }] };
}

function sarifResult(snippet?: string) {
  const region = { startLine: 3, ...(snippet !== undefined && { snippet: { text: snippet } }) };
  return {
    message: { text: 'generic-api-key has detected secret for file a.sh.' },
    ruleId: 'generic-api-key',
    locations: [{ physicalLocation: { artifactLocation: { uri: 'a.sh' }, region } }],
    partialFingerprints: { commitSha: COMMIT, email: 'a', author: 'a' },
  };
}

const STARS = '*'.repeat(30);

/** As `trivy fs --scanners secret --format json` prints it. */
function trivy() {
  const Code = { Lines: [{ Number: 3, Content: `export TOKEN=${STARS}`, IsCause: true }] };
  const secret = {
    RuleID: 'token',
    Category: 'general',
    StartLine: 3,
    EndLine: 3,
    Code,
    Match: `TOKEN=${STARS}`,
  };
  const Results = [{ Target: 'a.sh', Class: 'secret', Secrets: [secret] }];
  return { SchemaVersion: 2, ArtifactName: '.', ArtifactType: 'filesystem', Results };
}

/** As `semgrep --json` prints it. */
function semgrep(code: string) {
  const extra = { message: 'A secret', severity: 'ERROR', lines: code, fingerprint: 'requires login' };
  const result = { check_id: 'secrets.token', path: 'a.sh', start: { line: 3, col: 1 }, extra };
  return { version: '1.2.3', results: [result], errors: [], paths: { scanned: ['a.sh'] } };
}

/** A baseline. */
const DETECT_SECRETS = {
  version: '1.5.0',
  plugins_used: [{ name: 'KeywordDetector' }],
  results: { 'a.sh': [{ type: 'Secret Keyword', filename: 'a.sh', hashed_secret: COMMIT, line_number: 3 }] },
};

/** As `ggshield secret scan repo --json` prints it. */
function ggshield(match: string) {
  const incidents = [{ policy: 'Secrets detection', occurrences: [{ match, type: 'token', line_start: 3 }] }];
  const scan = { id: COMMIT, type: 'commit', entities_with_incidents: [{ filename: 'a.sh', incidents }] };
  return { id: 'x', type: 'repo', scans: [scan], total_incidents: 1 };
}

/** As `checkov -o json` prints it. */
function checkov(code: string) {
  const check = {
    check_id: 'CKV_SECRET_6',
    file_path: '/a.sh',
    file_line_range: [3, 4],
    code_block: [[3, code]],
  };
  return { check_type: 'secrets', results: { passed_checks: [], failed_checks: [check] } };
}

/** GitLab's gl-secret-detection-report.json. */
function gitlab(fields: object = {}) {
  const location = { file: 'a.sh', start_line: 3, commit: { sha: COMMIT } };
  return {
    version: '15.1.4',
    vulnerabilities: [{ id: 'x', location, ...fields }],
    scan: { type: 'secret_detection' },
  };
}

/** Reads a text in chunks of a size that cuts everything somewhere. */
async function read(input: string | Uint8Array, size = 7) {
  const bytes = Buffer.from(input);
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += size)
      yield await Promise.resolve(bytes.subarray(at, at + size));
  }
  const { candidates, ...rest } = await readLeaked(chunks());
  return {
    ...rest,
    values: candidates.map(({ value }) => value.reveal()),
    places: candidates.flatMap(({ places }) => places),
    lines: candidates.flatMap(({ lines }) => lines),
    all: JSON.stringify({ candidates, ...rest }),
  };
}

const json = (value: unknown) => JSON.stringify(value);
const pretty = (value: unknown) => JSON.stringify(value, null, 1);

describe('reports are recognized by their shape', () => {
  test.each([
    ['gitleaks', json([gitleaks()]), { file: 'deploy/run.sh', line: 12 }],
    ['gitleaks', pretty([gitleaks()]), { file: 'deploy/run.sh', line: 12 }],
    ['gitleaks', `\uFEFF${pretty([gitleaks()])}`, { file: 'deploy/run.sh', line: 12 }],
    ['trufflehog', `${json(trufflehog())}\n`, { file: 'ci/env', line: 4 }],
    ['trufflehog', json(trufflehog({ Raw: '', RawV2: `id:${VALUE}` })), { file: 'ci/env', line: 4 }],
    ['github', pretty([alert()]), { file: 'env.yml', line: 7 }],
    ['github', json(alert()), { file: 'env.yml', line: 7 }],
    ['github', json([[], [alert()]]), { file: 'env.yml', line: 7 }],
    ['sarif', json(sarif([sarifResult(VALUE)])), { file: 'a.sh', line: 3 }],
    ['sarif', pretty(sarif([sarifResult(VALUE)])), { file: 'a.sh', line: 3 }],
  ])('%s', async (format, text, place) => {
    const { report, values, places, lines } = await read(text);
    expect(report).toMatchObject({ format, findings: 1, hidden: 0 });
    expect({ values, lines }).toEqual({ values: [VALUE], lines: [] });
    expect(places).toMatchObject([{ ...place, commit: COMMIT }]);
  });

  test('of UTF-16, as a shell on Windows writes it', async () => {
    const little = Buffer.from(`\uFEFF${pretty([gitleaks()])}`, 'utf16le');
    for (const bytes of [little, Buffer.from(little).swap16()]) {
      expect(await read(bytes)).toMatchObject({ report: { findings: 1 }, values: [VALUE] });
    }
  });

  test('from several pages, and between lines of a log', async () => {
    const pages = `${json([alert()])}${json([alert({ secret: OTHER })])}`;
    expect(await read(pages)).toMatchObject({ report: { findings: 2 }, values: [VALUE, OTHER] });
    const log = json({ level: 'info-0', msg: 'running source' });
    expect(await read(`${log}\n${json(trufflehog())}\n${log}\n`)).toMatchObject({
      report: { format: 'trufflehog', findings: 1 },
      values: [VALUE],
    });
  });

  test('the message of GitHub to its partners', async () => {
    const url = `https://github.com/o/r/blob/${COMMIT}/foo/bar.txt`;
    const { report, values, places } = await read(
      json([{ token: VALUE, type: 'x', url, source: 'content' }]),
    );
    expect({ report, values }).toMatchObject({ report: { format: 'github', findings: 1 }, values: [VALUE] });
    expect(places).toMatchObject([{ link: url }]);
  });

  test('SARIF of a scan that found nothing is a report of nothing', async () => {
    expect((await read(pretty(sarif([])))).report).toMatchObject({ format: 'sarif', findings: 0 });
  });

  test.each([
    ['a list of nothing', '[]'],
    ['a log', `[2026-11-02] token=${VALUE}\n{"broken`],
    ['other JSON', json({ access_token: VALUE })],
    ['lines of JSON and others', `${json({ token: VALUE })}\nError: at line 3\n`],
    ['nothing', ''],
  ])('%s is text', async (_, text) => {
    expect((await read(text)).report).toBeNull();
    expect((await read(text)).values).toEqual(text.includes(VALUE) ? [VALUE] : []);
  });

  test.each([
    ['gitleaks', pretty([gitleaks()])],
    ['TruffleHog', json(trufflehog())],
    ['SARIF', pretty(sarif([sarifResult(VALUE)]))],
  ])('a report of %s that was cut off in its first finding is no text', async (_, text) => {
    for (const end of [1, 10, text.indexOf(VALUE), text.indexOf(VALUE) + 10]) {
      const failed = read(text.slice(0, end));
      await expect(failed).rejects.toMatchObject({ code: 'usage' });
      await expect(failed).rejects.toThrow(/ends prematurely, in line \d+$/);
    }
  });

  test('an error of the GitHub API is no report of nothing', async () => {
    const error = {
      message: 'Secret scanning is disabled on this repository.',
      documentation_url: 'https://docs.github.com/rest/secret-scanning/secret-scanning',
      status: '404',
    };
    for (const text of [pretty(error), `${json([alert()])}${json(error)}`]) {
      await expect(read(text)).rejects.toMatchObject({ code: 'usage' });
      await expect(read(text)).rejects.toThrow('The input is an error from the GitHub API instead of alerts');
    }
  });

  test.each(['utf16le', 'utf8'] as const)('a text in %s, in chunks of any size', async (encoding) => {
    for (const start of ['\uFEFF', ''])
      for (const size of [1, 3, 100_000])
        expect(await read(Buffer.from(`${start}first\r\ntoken: ${VALUE}\r\n`, encoding), size)).toMatchObject(
          { lines: [2], values: [VALUE] },
        );
  });

  test('a text to which PowerShell appended UTF-16', async () => {
    const text = Buffer.concat([Buffer.from('one\n'), Buffer.from(`two ${VALUE}\n`, 'utf16le')]);
    expect(await read(text)).toMatchObject({ values: [VALUE] });
  });

  test.each([
    ['gzip', gzipSync(VALUE), /compressed with gzip.*cannot be found/],
    ['zstd', zstdCompressSync(VALUE), /compressed with zstd/],
    ['UTF-32', Buffer.from(`fffe0000${Buffer.from(VALUE, 'utf16le').toString('hex')}`, 'hex'), /is UTF-32/],
    ['a ZIP archive', Buffer.from(`PK\x03\x04${VALUE}`, 'latin1'), /is a ZIP archive/],
    ['a tar archive', Buffer.concat([Buffer.alloc(257), Buffer.from('ustar')]), /is a tar archive/],
    ['other data', Buffer.from([1, 0, 0, 7, 65]), /is binary data/],
  ])('%s is refused, not called clean', async (_, bytes, problem) => {
    for (const size of [1, 100_000]) {
      await expect(read(bytes, size)).rejects.toMatchObject({ code: 'usage' });
      await expect(read(bytes, size)).rejects.toThrow(problem);
    }
  });

  test.each([
    ['a shell', `curl --data token=${VALUE.slice(0, 20)}\\\n${VALUE.slice(20)} x\n`],
    ['YAML', `token: "${VALUE.slice(0, 20)}\\\n  ${VALUE.slice(20)}"\n`],
    ['quoted-printable', `Content: the token=\r\n ${VALUE.slice(0, 20)}=\r\n${VALUE.slice(20)} follows\r\n`],
    [
      'base64',
      Buffer.from(`${'x '.repeat(20)}${VALUE}\n`)
        .toString('base64')
        .replace(/.{64}/g, '$&\n'),
    ],
    [
      'base64 in a diff',
      Buffer.from(`${'xy '.repeat(20)}${VALUE} end`)
        .toString('base64')
        .replace(/.{1,76}/g, '+$&\n'),
    ],
  ])('a value that %s breaks into two lines', async (_, text) => {
    expect(text).not.toContain(VALUE);
    expect((await read(`first\n${text}`)).values).toContain(VALUE);
  });

  test('base64 on a line that is read in pieces', async () => {
    const word = Buffer.from(`${'x'.repeat(786_405)} ${VALUE} ${'y'.repeat(9_000)}`).toString('base64');
    expect((await read(word, 65_536)).values).toContain(VALUE);
  });

  test('a line of 3 MB is searched in pieces, and a value at their border is found', async () => {
    const text = `${'x '.repeat(524_280)}token=${VALUE}${' y'.repeat(1_000_000)} ${OTHER}`;
    expect((await read(text, 65_536)).values).toEqual([VALUE, OTHER]);
  });
});

describe('hidden secrets', () => {
  test.each([
    ['gitleaks --redact', json([gitleaks({ Secret: 'REDACTED', Match: 'TOKEN = "REDACTED"' })])],
    ['gitleaks --redact=50', json([gitleaks({ Secret: 'abcdefghijABCDE...', Match: 'abcdefghijABCDE...' })])],
    ['TruffleHog without Raw', json(trufflehog({ Raw: '' }))],
    ['alerts with hide_secret', json([alert({ secret: null })])],
    ['a webhook', json({ action: 'created', alert: alert({ secret: undefined }), repository: {} })],
    ['SARIF of TruffleHog', json(sarif([sarifResult()]))],
    [
      'gitleaks 7',
      json([{ line: 'TOKEN=REDACTED', offender: 'REDACTED', rule: 'x', file: 'a.sh', commit: COMMIT }]),
    ],
    ['SARIF of Semgrep', json(sarif([sarifResult('requires login')]))],
    ['SARIF of Trivy', json(sarif([sarifResult(`TOKEN=${STARS}`)]))],
    ['Trivy', pretty(trivy())],
    ['Semgrep', json(semgrep('requires login'))],
    ['detect-secrets', pretty(DETECT_SECRETS)],
    ['ggshield', json(ggshield(`ab${STARS}89`))],
    ['Checkov', json(checkov(`TOKEN=abcd${STARS}`))],
    ['Checkov with several frameworks', json([{ check_type: 'terraform', results: {} }, checkov(STARS)])],
    ['GitLab', json(gitlab())],
  ])('of %s are counted as not checked', async (_, text) => {
    const { report, values } = await read(text);
    expect(values).toEqual([]);
    expect(report).toMatchObject({ findings: 1, hidden: 1, hiddenPlaces: { length: 1 } });
  });

  test.each([
    ['Semgrep', json(semgrep(`TOKEN=${VALUE}`)), { file: 'a.sh', line: 3 }],
    ['ggshield with --show-secrets', json(ggshield(VALUE)), { file: 'a.sh', line: 3 }],
    ['GitLab', json(gitlab({ raw_source_code_extract: VALUE })), { file: 'a.sh', line: 3, commit: COMMIT }],
  ])('of %s that shows them are found with their places', async (_, text, place) => {
    const { report, values, places } = await read(text);
    expect({ report, values }).toMatchObject({ report: { findings: 1, hidden: 0 }, values: [VALUE] });
    expect(places[0]).toMatchObject(place);
  });

  test.each([
    ['Trivy', { ...trivy(), Results: [{ Target: 'go.sum', Class: 'lang-pkgs' }] }],
    ['Semgrep', { version: '1.2.3', results: [], errors: [] }],
    ['ggshield', { scans: [], total_incidents: 0 }],
  ])('of a report of %s that found nothing are none', async (_, value) => {
    expect((await read(json(value))).report).toMatchObject({ findings: 0, hidden: 0 });
  });

  test('are counted beside others, with their places', async () => {
    const hidden = gitleaks({ Secret: 'REDACTED', Match: 'REDACTED', File: 'b.sh' });
    const { report, values } = await read(json([gitleaks(), hidden]));
    expect(values).toEqual([VALUE]);
    expect(report).toMatchObject({ findings: 2, hidden: 1, hiddenPlaces: [{ file: 'b.sh' }] });
  });

  test('of a text are counted by line, unlike banners and the masks of CI', async () => {
    const table = `│ 3 [ export TOKEN=${STARS}\n "match": "ab${STARS}",\n"hashed_secret": "${COMMIT}"\n"secret_hash": "Ri9Fj"\n`;
    const others = `/**** A ****/\n${STARS}\ntoken: ***\npassword: ****\n`;
    expect(await read(`${table}${others}`)).toMatchObject({ hiddenLines: 4, values: [] });
    expect(await read(`Secret: REDACTED\n${VALUE}\n`)).toMatchObject({ hiddenLines: 1, values: [VALUE] });
  });

  test.each([
    ['KICS', '"actual_value": "\'token = \\"<SECRET-MASKED-ON-PURPOSE>\\"\' contains a secret"'],
    ['SonarQube', json({ issues: [{ rule: 'secrets:S6702', component: 'p:a.sh', line: 3 }] })],
    ['detect-secrets-hook', 'Secret Type: Base64 High Entropy String\nLocation:    a.sh:3\n'],
    ['Talisman', json({ message: 'Expected file to not contain hex encoded texts such as: abcd...' })],
    ['GitLab over GraphQL', json({ reportType: 'SECRET_DETECTION', location: { file: 'a.sh' } })],
    ['Azure DevOps', json({ alertType: 'secret', truncatedSecret: 'abc...xyz' })],
    ['Amazon Macie', json({ type: 'SensitiveData:S3Object/Credentials' })],
    ['tartufo', json({ matched_string: '<redacted>' })],
    ['Rails', 'Parameters: {"token"=>"[FILTERED]"}'],
    ['Terraform', '  + token = (sensitive value)'],
    ['Ansible', 'password=VALUE_SPECIFIED_IN_NO_LOG_PARAMETER'],
    ['a page with dots', 'Token: abcd••••••••wxyz'],
  ])('of %s are counted', async (_, text) => {
    expect(await read(text)).toMatchObject({ hiddenLines: 1, values: [] });
  });

  test('of words of a text are none', async () => {
    const text = 'The (hidden) file, a masked ball, secrets: none.\nA [filtered] list of secret types\n';
    expect(await read(text)).toMatchObject({ hiddenLines: 0 });
  });

  test('a release of Helm, packed within base64, is unpacked; one that goes on or is cut is not checked', async () => {
    const rest = randomBytes(30_000).toString('base64');
    const packed = (text: string) => gzipSync(text).toString('base64');
    const release = (text: string) => Buffer.from(packed(text)).toString('base64');
    const config = (more = '') => `{"config":{"token":"${VALUE}"}}${more}`;
    for (const word of [packed(config()), release(config())])
      expect(await read(`data: "${word}"`)).toMatchObject({ hiddenLines: 0, values: [VALUE] });
    for (const word of [packed(config()).slice(0, 60), release(config(rest + rest + rest))])
      expect((await read(`release: ${word}`, 65_536)).hiddenLines).toBe(1);
    // What unpacks to far more than any text is none.
    expect((await read(packed('x'.repeat(3_000_000)))).hiddenLines).toBe(1);
  });
});

describe('nothing but digests leaves', () => {
  test.each([
    ['a token in a path', { File: `backup/${VALUE}.txt` }],
    ['a secret of a finding in a path', { File: 'keys/not-a-token-secret', Secret: 'not-a-token-secret' }],
    ['a percent-encoded secret', { Link: 'https://x/?q=s%2Dcret%2Fvalue', Secret: 's-cret/value' }],
  ])('%s', async (_, fields) => {
    const { all } = await read(json([gitleaks(fields), gitleaks({ File: `x/${OTHER}` })]));
    expect(all).toContain('[redacted]');
    for (const secret of [VALUE, OTHER, 'not-a-token-secret', 's%2Dcret']) expect(all).not.toContain(secret);
  });

  test('broken JSON is reported by its place, without its content', async () => {
    const text = `${pretty([gitleaks(), gitleaks()]).slice(0, -40)}\n "oops ${OTHER}" }`;
    const error = await read(text).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'usage' });
    expect(String(error)).toMatch(/gitleaks report is not valid JSON, in line \d+, after 1 finding$/);
    expect(String(error)).not.toContain(OTHER);
    await expect(read(pretty([gitleaks(), gitleaks()]).slice(0, -3))).rejects.toThrow(/ends early/);
  });

  test('a finding that is larger than memory allows ends the search', async () => {
    const text = json([gitleaks(), gitleaks({ Match: 'x'.repeat(20 * 1024 * 1024) })]);
    await expect(read(text, 1024 * 1024)).rejects.toThrow(/more than 16777216 characters, in line 1/);
  });
});

test('a report of 20,000 findings is read as a stream', { tags: ['long'] }, async () => {
  const [finding] = [Buffer.from(`${json(trufflehog())}\n`)];
  async function* chunks() {
    for (let count = 0; count < 20_000; count += 1) yield await Promise.resolve(finding);
  }
  const { report, candidates } = await readLeaked(chunks());
  expect(report).toMatchObject({ findings: 20_000 });
  expect(candidates).toMatchObject([{ places: { length: 1 } }]);
});
