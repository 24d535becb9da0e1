import net from 'node:net';
import { BerReader, BerWriter } from 'ldapts';
import { onTestFinished } from 'vitest';

/** Operations of RFC 4511 that are sent here. */
const OPERATIONS = { bind: 0x61, entry: 0x64, done: 0x65, reference: 0x73, extended: 0x78 } as const;
/** What asks for them. */
const REQUESTS: Readonly<Record<number, Request['kind']>> = { 96: 'bind', 99: 'search', 119: 'extended' };

/** What a client asked. */
export interface Request {
  readonly id: number;
  readonly kind: 'bind' | 'search' | 'extended';
  /** At the beginning of the operation. */
  readonly reader: BerReader;
}

/** What one connection of a server does with each request. */
export type Script = (asked: Request, socket: net.Socket) => void;

/** The result of an operation: 0 is success. */
export function result(
  id: number,
  kind: 'bind' | 'done' | 'extended',
  status = 0,
  { text = '', cookie }: { text?: string; cookie?: string | undefined } = {},
): Buffer {
  return message(
    id,
    OPERATIONS[kind],
    (writer) => {
      writer.writeEnumeration(status);
      writer.writeString('');
      writer.writeString(text);
    },
    cookie,
  );
}

/** An entry with an entryUUID. */
export function entry(id: number, uid: string): Buffer {
  return entryOf(id, `uid=${uid},dc=x`, { uid: [uid], entryUUID: [`id-${uid}`] });
}

/** An entry with any attributes. */
export function entryOf(
  id: number,
  name: string,
  attributes: Readonly<Record<string, readonly string[]>>,
): Buffer {
  return message(id, OPERATIONS.entry, (writer) => {
    writer.writeString(name);
    writer.startSequence();
    for (const [type, values] of Object.entries(attributes)) {
      writer.startSequence();
      writer.writeString(type);
      writer.startSequence(0x31);
      for (const value of values) writer.writeString(value);
      writer.endSequence();
      writer.endSequence();
    }
    writer.endSequence();
  });
}

/** A reference to another server. */
export function reference(id: number, uri: string): Buffer {
  return message(id, OPERATIONS.reference, (writer) => writer.writeString(uri));
}

function message(id: number, operation: number, body: (writer: BerWriter) => void, cookie?: string): Buffer {
  const writer = new BerWriter();
  writer.startSequence();
  writer.writeInt(id);
  writer.startSequence(operation);
  body(writer);
  writer.endSequence();
  if (cookie !== undefined) {
    const value = new BerWriter();
    value.startSequence();
    value.writeInt(0);
    value.writeString(cookie);
    value.endSequence();
    writer.startSequence(0xa0);
    writer.startSequence();
    writer.writeString('1.2.840.113556.1.4.319');
    writer.writeBuffer(value.buffer, 0x04);
    writer.endSequence();
    writer.endSequence();
  }
  writer.endSequence();
  return writer.buffer;
}

/** Binds everyone. */
const bindsAll: Script = ({ id }, socket) => socket.write(result(id, 'bind'));

/** A server that binds everyone, unless told otherwise, and does with all other requests what the script says. */
export async function ldapServer(
  script: Script,
  bind = bindsAll,
): Promise<{ readonly url: URL; readonly connections: () => number }> {
  let connections = 0;
  const open = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    connections += 1;
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      // The beginning of an encryption, which is no message.
      if (data[0] !== 0x30) return;
      const reader = new BerReader(data);
      reader.readSequence();
      const id = reader.readInt() ?? 0;
      const kind = REQUESTS[reader.peek() ?? 0];
      if (kind === 'bind') bind({ id, kind, reader }, socket);
      else if (kind !== undefined) script({ id, kind, reader }, socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const { port } = server.address() as net.AddressInfo;
  return { url: new URL(`ldap://127.0.0.1:${port}`), connections: () => connections };
}
