import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { jobKinds } from '../../../src/app/jobs/job-kinds.ts';
import { loadConfiguration } from '../../../src/config/configuration.ts';

function load(auditLog: string, logFile?: string) {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const config = join(folder, 'tokenctl.yaml');
  writeFileSync(config, `auditLog: ${auditLog}\n`);
  const settings = () => loadConfiguration({ config, logFile }, { HOME: folder }, jobKinds).auditLog;
  return { folder, settings };
}

describe('auditLog', () => {
  test('keeps what it asks for, whichever layer says where the log is', () => {
    const text = '{ requireReason: true, required: { to: "tls://siem.example:6514", format: syslog } }';
    const required = { to: 'tls://siem.example:6514', format: 'syslog', timeout: 5 };
    expect(load(text).settings()).toMatchObject({ requireReason: true, required });
    expect(load(text, '/flag.jsonl').settings()).toMatchObject({ file: '/flag.jsonl', required });
  });

  test('takes paths from the folder of the file', () => {
    const { folder, settings } = load(
      '{ key: { file: log.key }, required: { file: intents.jsonl, timeout: 30s, caFile: ca.pem, token: { file: t } } }',
    );
    expect(settings()).toMatchObject({
      key: join(folder, 'log.key'),
      required: {
        to: join(folder, 'intents.jsonl'),
        format: 'jsonl',
        timeout: 30,
        caFile: join(folder, 'ca.pem'),
        token: { file: join(folder, 't') },
      },
    });
  });

  test.each([
    ['{ required: {} }', /auditLog\.required: has neither `to` nor a file/],
    ['{ required: { to: "tcp://a:1", file: b } }', /auditLog\.required: has both `to` and a file/],
    ['{ required: { to: "udp://a:1" } }', /must not be udp:\/\//],
    ['{ required: { to: "siem.example" } }', /must be tls:\/\/HOST:PORT/],
    ['{ required: { to: "https://u:p@siem.example" } }', /must not contain a user name or password/],
    ['{ required: { to: "tcp://a:1", format: xml } }', /auditLog\.required\.format/],
    ['{ requireReasons: true }', /did you mean "requireReason"/],
    ['{ file: a, database: service=log }', /auditLog: has both a file and a database/],
  ])('%s is refused', (text, problem) => {
    expect(load(text).settings).toThrow(problem);
  });
});
