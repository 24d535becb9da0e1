import {
  BerReader,
  BindResponse,
  ExtendedResponse,
  type MessageResponse,
  PagedResultsControl,
  SearchEntry,
  SearchReference,
  SearchResponse,
} from 'ldapts';
import { extentAt } from './ldap-frames.ts';

/** A message of a server. */
export interface LdapMessage {
  readonly message: MessageResponse;
  /** Names the next page of a search (RFC 2696): empty for the last page, null without that control. */
  readonly cookie: Buffer | null;
}

/** The deepest element: the values of an attribute of an entry are at 5 (RFC 4511 §4.5.2). */
const MAX_DEPTH = 10;
/** The elements of one message: a group of a million members, with room for more. Each is an object or two. */
const MAX_ELEMENTS = 2_000_000;
/** Bit 6 of a tag: the content is elements (X.690 §8.1.2.5). */
const CONSTRUCTED = 0x20;
const OCTET_STRING = 0x04;
const BOOLEAN = 0x01;
const CONTROLS = 0xa0;

/** The responses that are asked for here, by their tags (RFC 4511 §4.2.2, §4.5.2, §4.12). */
const RESPONSES: Readonly<Record<number, new (options: { messageId: number }) => MessageResponse>> = {
  97: BindResponse,
  100: SearchEntry,
  101: SearchResponse,
  115: SearchReference,
  120: ExtendedResponse,
};

/**
 * Reads a whole message. The classes of ldapts read the responses, its own parser is not used: where an element is missing or
 * longer than what holds it, it reads null again and again without an end, or takes a result without a code for success.
 *
 * @throws Error for a message that is not whole or has a form that LDAP does not allow
 */
export function readMessage(frame: Buffer): LdapMessage {
  requireNested(frame);
  const reader = new StrictReader(frame);
  reader.readSequence();
  const messageId = reader.readInt();
  const Response = RESPONSES[reader.readSequence()];
  if (Response === undefined) throw new Error('not a response');
  const message = new Response({ messageId });
  message.parseMessage(reader);
  // RFC 4511 §4: what follows and is unknown is ignored, such as the addresses of a referral.
  while (reader.remain > 0 && reader.peek() !== CONTROLS) reader.skip();
  return { message, cookie: reader.remain > 0 ? readCookie(reader) : null };
}

/** Reads the controls of a message (RFC 4511 §4.1.11) for the next page of a search. */
function readCookie(reader: StrictReader): Buffer | null {
  let cookie: Buffer | null = null;
  reader.readSequence(CONTROLS);
  while (reader.remain > 0) {
    reader.readSequence();
    const end = reader.offset + reader.length;
    const type = reader.readString();
    if (reader.offset < end && reader.peek() === BOOLEAN) reader.readBoolean();
    if (type === PagedResultsControl.type) {
      const value = new StrictReader(reader.readString(OCTET_STRING, true));
      value.readSequence();
      value.readInt();
      cookie = Buffer.from(value.readString(OCTET_STRING, true));
    }
    reader.offset = end;
  }
  return cookie;
}

/** Refuses elements that are longer than what holds them, and more of them than a message has. */
function requireNested(frame: Buffer): void {
  const ends = [frame.length];
  let elements = 0;
  for (let at = 0; ends.length > 0; ) {
    const end = ends.at(-1) ?? 0;
    if (at === end) {
      ends.pop();
      continue;
    }
    const element = extentAt(frame, at);
    if (element === null || element.end > end) throw new Error('an element is longer than what holds it');
    elements += 1;
    if (elements > MAX_ELEMENTS) throw new Error('too many elements');
    const isConstructed = ((frame[at] ?? 0) & CONSTRUCTED) !== 0;
    if (isConstructed) ends.push(element.end);
    if (ends.length > MAX_DEPTH) throw new Error('nested too deep');
    at = isConstructed ? element.start : element.end;
  }
}

/** A reader for which an element that is missing is an error. So every read moves on, and every loop of ldapts ends. */
class StrictReader extends BerReader {
  override readLength(offset?: number): number {
    const start = present(super.readLength(offset));
    // Four bytes can make a negative length.
    if (this.length < 0 || this.length > this.buffer.length - start) throw new Error('not a length');
    return start;
  }

  override readSequence(tag?: number): number {
    const found = present(super.readSequence(tag));
    if ((found & CONSTRUCTED) === 0) throw new Error('not a sequence');
    return found;
  }

  override readTag(tag: number): number {
    const value = present(super.readTag(tag));
    if (this.length === 0) throw new Error('a number without a digit');
    return value;
  }

  override readInt(): number {
    return present(super.readInt());
  }

  override readString(tag?: number, asBuffer?: false): string;
  override readString(tag: number, asBuffer: true): Buffer;
  override readString(tag?: number, asBuffer?: boolean): string | Buffer {
    return present(super.readString(tag as number, asBuffer as true));
  }

  /** Leaves out one element. */
  skip(): void {
    this.offset = this.readLength(this.offset + 1) + this.length;
  }
}

function present<T>(value: T | null): T {
  if (value === null) throw new Error('an element is missing');
  return value;
}
