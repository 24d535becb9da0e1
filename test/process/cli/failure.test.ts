import { TokenctlError } from '@tokenctl/common/errors.ts';
import { describe, expect, test } from 'vitest';
import { failureOf, failureToJson, failureToText } from '../../../src/cli/errors/failure.ts';
import { traceOf } from '../../../src/cli/output/report-failure.ts';

const leaky = Object.assign(new Error('GET / with Authorization: Bearer s3cr3t failed'), {
  headers: { authorization: 'Bearer s3cr3t' },
});

describe('an error of the domain', () => {
  const error = new TokenctlError('plan_too_large', 'Too many', {
    hint: 'Raise --at-most',
    details: { planned: 9 },
    cause: leaky,
  });

  test('is told with its hint, as sentences', () => {
    expect(failureToText(failureOf(error))).toBe('Error: Too many.\nRaise --at-most.\n');
  });

  test('has only the allowed fields in JSON', () => {
    expect(JSON.parse(JSON.stringify(failureToJson(failureOf(error))))).toEqual({
      error: {
        code: 'plan_too_large',
        message: 'Too many.',
        hint: 'Raise --at-most.',
        details: { planned: 9 },
      },
    });
  });
});

describe('an unexpected error', () => {
  test('is reported as a bug without its message', () => {
    const failure = failureOf(leaky);
    expect(failure.exit).toBe(1);
    expect(failureToText(failure)).toMatch(
      /^Error: Bug in tokenctl: unexpected Error\..*\n.*TOKENCTL_DEBUG=1/,
    );
    expect(JSON.stringify(failureToJson(failure))).not.toContain('s3cr3t');
  });

  test.each([undefined, null, 'text', { code: 'usage' }])('may be %j', (thrown) => {
    expect(failureOf(thrown).exit).toBe(1);
  });
});

describe('the trace for finding a bug', () => {
  test.each([
    ['a header', 'Authorization: Bearer s3cr3t'],
    ['basic credentials', 'authorization=Basic s3cr3t=='],
    ['a URL', 'GET https://admin:s3cr3t@controller.example/'],
    ['a form', 'grant_type=password&password=s3cr3t&scope=write'],
    ['a JSON body', '{"token": "s3cr3t"}'],
  ])('blots out %s', (_name, message) => {
    expect(traceOf(new Error('outer', { cause: new Error(message) }))).not.toContain('s3cr3t');
  });

  test('blots out what looks like a token', () => {
    expect(traceOf(new Error(`unexpected ${'aB3'.repeat(10)}`))).toContain('unexpected [redacted]');
  });

  test('shows the causes and where they were thrown', () => {
    const trace = traceOf(new Error('outer', { cause: new TypeError('inner') }));
    expect(trace).toMatch(/Error: outer\n\s+at .*failure\.test\.ts/);
    expect(trace).toMatch(/caused by:\nTypeError: inner/);
  });
});
