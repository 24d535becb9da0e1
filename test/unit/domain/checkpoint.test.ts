import { Secret } from '@tokenctl/common/secret.ts';
import { describe, expect, test } from 'vitest';
import { openCheckpoint, signCheckpoint } from '../../../src/domain/checkpoint.ts';
import {
  generateNoteKey,
  openNote,
  parseSigner,
  parseVerifier,
  signNote,
} from '../../../src/domain/note-key.ts';

// The example of Go's golang.org/x/mod/sumdb/note.
const GO_SIGNER = new Secret(
  'PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz',
);
const GO_VERIFIER = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
const GO_TEXT =
  "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const GO_NOTE = `${GO_TEXT}
— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
`;

const signer = parseSigner(generateNoteKey('example.org/audit'));
const root = Buffer.alloc(32, 7);
const note = signCheckpoint({ size: 12, root }, [signer]);

describe('signed notes', () => {
  test("are Go's, byte for byte", () => {
    expect(parseSigner(GO_SIGNER).verifier.text).toBe(GO_VERIFIER);
    expect(signNote(GO_TEXT, [parseSigner(GO_SIGNER)])).toBe(GO_NOTE);
    expect(openNote(GO_NOTE, [parseVerifier(GO_VERIFIER)]).text).toBe(GO_TEXT);
  });

  test('count the signatures of known keys, and ignore others', () => {
    const other = parseSigner(generateNoteKey('example.org/audit'));
    const both = signNote('text\n', [other, signer]);
    expect(openNote(both, [signer.verifier]).signers).toEqual([signer.verifier]);
    expect(openNote(both, [signer.verifier, other.verifier]).signers).toHaveLength(2);
    expect(() => openNote(signNote('text\n', [other]), [signer.verifier])).toThrow('has no signature by');
  });

  test('are refused where a known key did not sign what they say', () => {
    expect(() => openNote(note.replace('\n12\n', '\n13\n'), [signer.verifier])).toThrow('does not match');
  });

  test.each([
    ['nothing', ''],
    ['no signature', 'text\n\n'],
    ['no text', '\n— example.org/audit AAAAAAAA\n'],
    ['an unfinished line', note.slice(0, -1)],
    ['a control character', note.replace('\n12\n', '\n12\r\n')],
    ['a signature line of another form', `${note}and more\n`],
  ])('are refused where there is %s', (_, text) => {
    expect(() => openNote(text, [signer.verifier])).toThrow('Not a signed note');
  });
});

describe('note keys', () => {
  test('of a private key give its public one', () => {
    const key = generateNoteKey('example.org/audit');
    expect(String(key)).toBe('[redacted]');
    const { verifier } = parseSigner(key);
    expect(parseVerifier(verifier.text).id).toEqual(verifier.id);
    expect(verifier.text).toMatch(/^example\.org\/audit\+[0-9a-f]{8}\+AX?[A-Za-z0-9+/=]+$/);
  });

  test.each(['', 'two words', 'a+b', 'a\u00a0b', 'a\u0007'])('are not named %j', (name) => {
    expect(() => generateNoteKey(name)).toThrow('Invalid key name');
  });

  test.each([
    'PeterNeumann',
    GO_VERIFIER.replace('c74f20a3', 'c74f20a4'),
    GO_VERIFIER.replace('ARpc', 'AhpC'),
    GO_VERIFIER.slice(0, -4),
  ])('are refused where changed: %s', (text) => {
    expect(() => parseVerifier(text)).toThrow('Not a public key');
  });

  test('are refused in private without being shown', () => {
    const key = new Secret(GO_SIGNER.reveal().replace('c74f20a3', '00000000'));
    expect(() => parseSigner(key)).toThrow('Not a private key for signed notes');
  });
});

describe('checkpoints', () => {
  test('say the log, its size and its root', () => {
    expect(note.split('\n').slice(0, 4)).toEqual(['example.org/audit', '12', root.toString('base64'), '']);
    expect(openCheckpoint(note, [signer.verifier])).toEqual({ origin: 'example.org/audit', size: 12, root });
  });

  test('may hold further lines', () => {
    const text = `example.org/audit\n0\n${root.toString('base64')}\nmore\n`;
    expect(openCheckpoint(signNote(text, [signer]), [signer.verifier]).size).toBe(0);
  });

  test('are of the log of the key', () => {
    const text = `example.org/other\n0\n${root.toString('base64')}\n`;
    expect(() => openCheckpoint(signNote(text, [signer]), [signer.verifier])).toThrow('another log');
  });

  test.each(['a\n012\nAA==\n', 'a\n-1\nAA==\n', 'a\n1\nAA==\n', 'a\n1\n', 'a\n1e3\n', 'a\n'])(
    'are refused in another form: %j',
    (text) => {
      expect(() => openCheckpoint(signNote(text, [signer]), [signer.verifier])).toThrow('not a checkpoint');
    },
  );
});
