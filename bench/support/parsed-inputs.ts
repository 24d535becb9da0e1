import { StoredVariables } from '@tokenctl/service/playbooks/variables-pace.ts';
import { readMessage } from '../../src/directories/ldap-messages.ts';
import { isSameContent } from '../../src/domain/investigation/value-parts.ts';

/** An element of LDAP, with a length of four bytes. */
export const element = (tag: number, ...content: readonly Buffer[]) => {
  const bytes = Buffer.concat(content);
  const header = Buffer.of(tag, 0x84, 0, 0, 0, 0);
  header.writeUInt32BE(bytes.length, 2);
  return Buffer.concat([header, bytes]);
};
/** Reads an entry that has what is given in the place of its attributes (RFC 4511 §4.5.2). */
export const ldapEntry = (...attributes: readonly Buffer[]) => {
  const message = element(
    0x30,
    Buffer.of(2, 1, 2),
    element(0x64, Buffer.of(4, 1, 0x61), element(0x30, ...attributes)),
  );
  return () => readMessage(message);
};

/** The variables of an inventory of hosts, of a kilobyte each. */
export const hostVariables = (size: number) => {
  const host = Array.from({ length: 150 }, (_, n) => `a${n}: 1`).join('\n');
  return async () => {
    const stored = new StoredVariables();
    for (let read = 0; read < size; read += host.length) await stored.read(host);
  };
};
/** Compares a text that an intruder chose with another one. */
export const compared = (text: string) => () => isSameContent(text, {});
