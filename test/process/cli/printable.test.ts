import { describe, expect, test } from 'vitest';
import { csvLine } from '../../../src/reports/tables/listing.ts';
import { numberText, printable } from '../../../src/reports/tables/text.ts';

describe('what others wrote, on a terminal', () => {
  test.each([
    ['an escape sequence', '\u001b[2Jgone', '\\u001b[2Jgone'],
    ['a line feed', 'a\nroot', 'a\\u000aroot'],
    ['an eight-bit control sequence', '\u009b31m', '\\u009b31m'],
    ['a mark that reorders text', 'a\u202eb', 'a\\u202eb'],
    ['a tag character beyond the basic plane', 'a\u{e0041}', 'a\\udb40\\udc41'],
  ])('%s is shown, not obeyed', (_name, text, shown) => {
    expect(printable.value(text)).toBe(shown);
  });

  test('letters of every script stay as they are', () => {
    expect(printable.value('Łódź 東京 😀')).toBe('Łódź 東京 😀');
  });

  test('a JSON text stays the same value', () => {
    const value = { description: 'a\u009b\u2028\u{e0041}\u001b' };
    expect(JSON.parse(printable.lines(JSON.stringify(value, null, 2)))).toEqual(value);
  });
});

test.each([
  [0, '0'],
  [999, '999'],
  [1000, '1,000'],
  [-12_345, '-12,345'],
  [1_234_567, '1,234,567'],
])('the number %d is printed as %s', (number, text) => {
  expect(numberText(number)).toBe(text);
});

describe('a line of CSV', () => {
  test('quotes what needs quotes', () => {
    expect(csvLine(['plain', 'a,b', 'say "hi"', ''])).toBe('plain,"a,b","say ""hi""",\n');
  });

  test.each([
    ...['=1+1', '+1', '-1', '@SUM(A1)', '|calc', ' =1+1', '＝1+1', ';=1+1', '%=1+1', '; %-1'],
    ...[
      '\u200b=1+1',
      '\ufeff=1+1',
      '\u2060;\u00ad=1+1',
      '\u3164=1+1',
      '\u2800=1+1',
      '\u{e0041}=1+1',
      '\u202e=1+1',
    ],
  ])('keeps %j from being run as a formula', (cell) => {
    expect(csvLine([cell])).toMatch(/^"?'/);
  });

  test.each(['50 % = half', 'a;=1', '%', '; none', ''])('leaves %j as it is', (cell) => {
    expect(csvLine([cell])).toBe(`${cell}\n`);
  });
});
