import { describe, expect, it } from 'vitest';
import type { Field } from '../src/listing/fields.ts';
import { type Problems, readFields, readValue } from '../src/resources/field-values.ts';

const text: Field = { type: 'string', label: 'Text', maxLength: 3 };
const name: Field = { type: 'string', label: 'Name', required: true };
const secret: Field = { type: 'string', label: 'Secret', blank: false, nullable: false };
const flag: Field = { type: 'boolean', label: 'Flag', defaultValue: false };
const strict: Field = { type: 'boolean', label: 'Strict', nullable: false };
const number: Field = { type: 'integer', label: 'Number' };
const owner: Field = { type: 'id', label: 'Owner', required: true };
const app: Field = { type: 'id', label: 'App' };
const kind: Field = { type: 'choice', label: 'Kind', choices: [['a', 'A']] };

describe('a value of a body is read by the type of its field:', () => {
  it.each<[Field, unknown, unknown]>([
    [text, '  ab  ', 'ab'],
    [text, 12, '12'],
    [text, '   ', ''],
    [text, null, ''],
    [text, {}, ''],
    [text, [], ''],
    [text, false, ''],
    [text, '日本語', '日本語'],
    [secret, ' s ', 's'],
    [flag, 'on', true],
    [flag, 'True', true],
    [flag, 1, true],
    [flag, 'off', false],
    [flag, 0, false],
    [flag, null, false],
    [flag, '', false],
    [strict, 'no', false],
    [number, ' 7 ', 7],
    [number, '7.0', 7],
    [owner, '12', 12],
    [app, null, null],
    [app, '', null],
    [kind, 'a', 'a'],
  ])('%j of %j is %j', (field, given, value) => {
    expect(readValue(field, given)).toEqual({ value });
  });

  it.each<[Field, unknown]>([
    [text, 'long'],
    [text, true],
    [text, ['x']],
    [text, { a: 1 }],
    [text, 'a\0'],
    [name, ''],
    [name, '  '],
    [name, null],
    [secret, ''],
    [secret, null],
    [secret, false],
    [flag, 'maybe'],
    [flag, 'tRuE'],
    [flag, 2],
    [flag, []],
    [strict, null],
    [strict, ''],
    [number, -1],
    [number, 1.5],
    [number, true],
    [number, null],
    [number, ''],
    [number, 2 ** 31],
    [owner, 'abc'],
    [owner, true],
    [owner, null],
    [owner, ''],
    [owner, 0],
    [kind, 'b'],
    [kind, null],
  ])('%j refuses %j', (field, given) => {
    expect(readValue(field, given)).toHaveProperty('problem');
  });
});

describe('the fields of a body', () => {
  const set = { fields: { name, text, flag } };
  const current = { name: 'n', text: 't', flag: true };
  const read = (body: Record<string, unknown>, method: 'POST' | 'PUT' | 'PATCH') => {
    const problems: Problems = {};
    return { values: readFields(set, body, { current, method, problems }), problems };
  };

  it('keep what PATCH does not name', () => {
    expect(read({ text: null, unknown: 1 }, 'PATCH')).toEqual({
      values: { ...current, text: '' },
      problems: {},
    });
  });

  it('are reset by PUT where they have a default, and kept otherwise', () => {
    expect(read({ name: 'm' }, 'PUT').values).toEqual({ name: 'm', text: 't', flag: false });
  });

  it('are required by POST and PUT', () => {
    for (const method of ['POST', 'PUT'] as const) expect(read({}, method).problems).toHaveProperty('name');
  });
});
