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

export interface LdapMessage {
  readonly message: MessageResponse;
  /** The cookie for the next page of a search (RFC 2696): empty for the last page, null without the control. */
  readonly cookie: Buffer | null;
}

/** The maximum depth: an attribute's values are at 5 (RFC 4511 §4.5.2). */
const MAX_DEPTH = 10;
/** The maximum number of elements in a message: more than for a group of a million members. */
const MAX_ELEMENTS = 2_000_000;
/** Bit 6 of a tag: the content consists of elements (X.690 §8.1.2.5). */
const CONSTRUCTED = 0x20;
const OCTET_STRING = 0x04;
const BOOLEAN = 0x01;
const CONTROLS = 0xa0;

/** The responses to our requests by tag (RFC 4511 §4.2.2, §4.5.2, §4.12). */
const RESPONSES: Readonly<Record<number, new (options: { messageId: number }) => MessageResponse>> = {
  97: BindResponse,
  100: SearchEntry,
  101: SearchResponse,
  115: SearchReference,
  120: ExtendedResponse,
};

/**
 * Parses a complete message. The responses are parsed by the classes of ldapts, but not by its own parser: if
 * an element is missing or longer than its container, that parser reads null endlessly, or takes a result
 * without a code for success.
 * @throws Error for a message that is incomplete or has a form that LDAP does not allow
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
  // RFC 4511 §4: unknown trailing elements are ignored, such as the URLs of a referral.
  while (reader.remain > 0 && reader.peek() !== CONTROLS) reader.skip();
  return { message, cookie: reader.remain > 0 ? readCookie(reader) : null };
}

/** Reads a message's controls (RFC 4511 §4.1.11) for the next page of a search. */
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

/** Refuses elements that are longer than their container, and too many elements. */
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

/** A reader that throws for a missing element. So every read advances, and every loop of ldapts ends. */
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

  /** Skips one element. */
  skip(): void {
    this.offset = this.readLength(this.offset + 1) + this.length;
  }
}

function present<T>(value: T | null): T {
  if (value === null) throw new Error('an element is missing');
  return value;
}
