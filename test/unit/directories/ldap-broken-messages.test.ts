import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LdapConnection } from '../../../src/directories/ldap-connection.ts';
import { readFilter } from '../../../src/directories/ldap-users.ts';
import { entry, ldapServer, reference, result, type Script } from '../../support/ldap-wire.ts';

/** An element of a message, with the offset of its tag. */
interface Element {
  readonly at: number;
  readonly tag: number;
  readonly length: number;
  readonly inner: readonly Element[];
}

/** The elements from an offset on. All of these messages are short: a length is one byte. */
function elements(data: Buffer, at: number, end: number): Element[] {
  if (at >= end) return [];
  const [tag = 0, length = 0] = data.subarray(at);
  const inner = (tag & 0x20) === 0 ? [] : elements(data, at + 2, at + 2 + length);
  return [{ at, tag, length, inner }, ...elements(data, at + 2 + length, end)];
}

/** The message with other bytes in the place of one element; what holds it is as long as it has to be. */
function replaced(data: Buffer, target: Element, bytes: Buffer): Buffer {
  const write = (element: Element): Buffer => {
    if (element.at === target.at) return bytes;
    const content =
      element.inner.length === 0
        ? data.subarray(element.at + 2, element.at + 2 + element.length)
        : Buffer.concat(element.inner.map(write));
    return Buffer.concat([Buffer.of(element.tag, content.length), content]);
  };
  return Buffer.concat(elements(data, 0, data.length).map(write));
}

const DAMAGES: Readonly<Record<string, (data: Buffer, element: Element) => Buffer>> = {
  'is longer by one': (data, { at, length }) => {
    const copy = Buffer.from(data);
    copy[at + 1] = length + 1;
    return copy;
  },
  'is longer than everything': (data, { at }) => {
    const copy = Buffer.from(data);
    copy[at + 1] = 0x7f;
    return copy;
  },
  'has 4 GB': (data, element) => withLength(data, element, '84ffffffff'),
  'has a length that goes back': (data, element) => withLength(data, element, '84fffffff0'),
  'has no length': (data, element) => withLength(data, element, '80'),
  'is missing': (data, element) => replaced(data, element, Buffer.alloc(0)),
  'has another type': (data, element) => {
    const copy = Buffer.from(data);
    copy[element.at] = 0x1f;
    return copy;
  },
};

function withLength(data: Buffer, element: Element, length: string): Buffer {
  const content = data.subarray(element.at + 2, element.at + 2 + element.length);
  return replaced(
    data,
    element,
    Buffer.concat([Buffer.of(element.tag), Buffer.from(length, 'hex'), content]),
  );
}

const isMissing = (index: string) => `${index} is missing`;

function all(list: readonly Element[]): readonly Element[] {
  return list.flatMap((element) => [element, ...all(element.inner)]);
}

/**
 * Every damage to every element of a message.
 *
 * @param harmless Those after which the message can be read: what is optional is missing, or is what LDAP ignores (RFC 4511 §4).
 */
function damaged(name: string, message: Buffer, harmless: readonly string[]): [string, Buffer][] {
  return all(elements(message, 0, message.length))
    .flatMap((element, index) =>
      Object.entries(DAMAGES).map(([damage, make]): [string, Buffer] => [
        `${name}: element ${index} ${damage}`,
        make(message, element),
      ]),
    )
    .filter(([title]) => !harmless.some((each) => title.endsWith(`element ${each}`)));
}

/** An element of a tag; the content is elements, bytes of a text, or the bytes themselves. */
function element(tag: number, ...content: readonly (Buffer | string)[]): Buffer {
  const bytes = Buffer.concat(content.map((each) => Buffer.from(each as string, 'latin1')));
  return Buffer.concat([Buffer.of(tag, bytes.length), bytes]);
}
const ID = Buffer.of(0x02, 0x01, 0x02);
const message = (...content: readonly Buffer[]) => element(0x30, ID, ...content);
const OK = Buffer.from('0a010004000400', 'hex');
const paging = (...value: readonly Buffer[]) =>
  message(element(0x65, OK), element(0xa0, element(0x30, element(0x04, '1.2.840.113556.1.4.319'), ...value)));

const CRAFTED: [string, Buffer][] = [
  ['an entry that ends in its header', Buffer.from('3005020102647f', 'hex')],
  ['an entry without anything', message(element(0x64))],
  ['an entry with a name alone', message(element(0x64, element(0x04, 'uid=a')))],
  ['an attribute without anything', message(element(0x64, element(0x04, 'a'), element(0x30, element(0x30))))],
  ['a reference that is a number', message(element(0x73, ID))],
  ['a result without a code', message(element(0x65))],
  ['a result with an empty code', message(element(0x65, Buffer.from('0a0004000400', 'hex')))],
  ['a result with a code of eight bytes', message(element(0x65, element(0x0a, '\0'.repeat(8)), OK))],
  ['a result without texts', message(element(0x65, Buffer.of(0x0a, 1, 0)))],
  ['a page without a value', paging()],
  ['a page with an empty value', paging(element(0x04))],
  ['a page without a cookie', paging(element(0x04, element(0x30, Buffer.of(2, 1, 0))))],
  ['a page with a cookie that is cut', paging(element(0x04, element(0x30, Buffer.of(2, 1, 0, 4, 0x7f, 1))))],
  ['a number for an operation', message(ID)],
  ['an operation that LDAP does not have', message(element(0x7e))],
  ['a request', message(element(0x63, OK))],
  ['a message without an operation', message()],
  ['a message without an id', element(0x30, element(0x65, OK))],
  ['an empty message', element(0x30)],
  ['a nest without an end', message(element(0x64, nest(50)))],
];

function nest(depth: number): Buffer {
  return depth === 0 ? Buffer.alloc(0) : element(0x30, nest(depth - 1));
}

/** What a run says of a server that sends this in an answer of some kind, then the end of a search, and closes the connection. */
async function readFrom(broken: Buffer, kind: 'bind' | 'extended' | 'search'): Promise<unknown> {
  const answer: Script = (_, socket) => socket.end(Buffer.concat([broken, result(2, 'done')]));
  const { url } = await ldapServer(answer, kind === 'bind' ? answer : undefined);
  try {
    const limits = { connect: 5_000, silence: 5_000, whole: 10_000 };
    const server = { name: 'It', url, startTls: kind === 'extended', limits };
    const connection = await LdapConnection.open(server);
    onTestFinished(() => connection.close());
    await connection.bind('cn=reader', new Secret('hidden-password'));
    const filter = readFilter('(uid=*)', 'filter');
    await Array.fromAsync(connection.search({ base: 'dc=x', scope: 'sub', filter, attributes: ['uid'] }));
    return 'read without an error';
  } catch (error) {
    return error;
  }
}

describe('a broken message', () => {
  const bySearch: [string, Buffer][] = [
    ...damaged('entry', entry(2, 'a'), ['0', '5', '7', '8', '9', '11', '12'].map(isMissing)),
    ...damaged('reference', reference(2, 'ldap://other/dc=y'), ['0', '3'].map(isMissing)),
    ...damaged('last page', result(2, 'done', 0, { cookie: 'one' }), [
      ...['0', '6', '7', '8'].map(isMissing),
      '6 has another type',
    ]),
    ...CRAFTED,
  ];
  const inPlain: [string, Buffer][] = damaged('StartTLS', result(1, 'extended'), []);
  const inBind: [string, Buffer][] = damaged('bind', result(1, 'bind'), []);

  test.each([
    ...bySearch.map(([name, broken]) => [name, 'search', broken] as const),
    ...inPlain.map(([name, broken]) => [name, 'extended', broken] as const),
    ...inBind.map(([name, broken]) => [name, 'bind', broken] as const),
  ])('ends the run with an error: %s', async (_, kind, broken) => {
    const error = await readFrom(broken, kind);
    expect(error).toBeInstanceOf(TokenctlError);
    expect(error).toMatchObject({ code: expect.stringMatching(/^target_(?:misbehaved|unreachable)$/) });
    expect(String(error)).not.toContain('hidden');
  });
});
