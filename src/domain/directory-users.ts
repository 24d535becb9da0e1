import { TokenctlError } from '@tokenctl/common/errors.ts';
import { textHash } from './compact-collections.ts';
import { normalizedName } from './distinguished-name.ts';

/** A user in a directory or at an identity provider. */
export interface DirectoryUser {
  /** The provider's permanent id of the user. */
  readonly id: string;
  /** The user's login names. */
  readonly logins: readonly string[];
  readonly emails: readonly string[];
  /** The DN of the entry in an LDAP directory; absent elsewhere. */
  readonly dn?: string;
  /** Evidence that the user is disabled; null for an active user. */
  readonly disabled: Disabled | null;
}

/** Evidence that a user is disabled. */
interface Disabled {
  /** The provider's name of the attribute. */
  readonly attribute: string;
  readonly value: string;
  /** Since when, according to the provider; null if it does not say. */
  readonly since: string | null;
}

/** The ways to find a directory's user. Except in ids, letter case and encoding of accents are ignored. */
export type FoundBy = 'id' | 'dn' | 'login' | 'email';

export interface Identifier {
  readonly kind: FoundBy;
  readonly value: string;
}

const KINDS: readonly FoundBy[] = ['id', 'dn', 'login', 'email'];
const FORMS: Readonly<Record<FoundBy, (text: string) => string>> = {
  id: (id) => id,
  dn: nameForm,
  login: loginForm,
  email: loginForm,
};

/** The header of each text: its kind in the two highest bits, and its length in bytes. */
const HEADER_BYTES = 4;
const LENGTH_BITS = 30;
/** A record is in one block, so that a position is a block number and an offset. */
const BLOCK_BITS = 20;
const BLOCK_BYTES = 2 ** BLOCK_BITS;
const MAX_BLOCKS = 2 ** (32 - BLOCK_BITS);
const NONE = 0xffff_ffff;
/** The numbers per block of a list, as a power of two. */
const LIST_BITS = 14;

/**
 * The users of a directory, each once, indexed by their identifiers. 100,000 users take about 20 MB: their
 * texts are bytes in large blocks, and only disabled users have an object. Users are numbered from 0, in the
 * order of the list.
 */
export class DirectoryUsers {
  readonly #blocks: Buffer[] = [];
  #free = BLOCK_BYTES;
  /** The position of each user's record. */
  readonly #records = new NumberList();
  #size = 0;
  readonly #disabled = new Map<number, Disabled>();
  /** The index entries, in chains of the same hash: the hash, the user, and the next entry of the chain. */
  readonly #hashes = new NumberList();
  readonly #owners = new NumberList();
  readonly #next = new NumberList();
  #values = 0;
  #chains: Uint32Array = new Uint32Array(1024).fill(NONE);

  get size(): number {
    return this.#size;
  }

  get disabledCount(): number {
    return this.#disabled.size;
  }

  /**
   * Adds a user; returns false, and adds nothing, if the id already exists. Throws `target_misbehaved` for a
   * user whose names and addresses are longer than 1 MB, and for too many users.
   */
  add({ id, dn, logins, emails, disabled }: DirectoryUser): boolean {
    if (this.find('id', id).length > 0) return false;
    const number = this.#size;
    const record = this.#write([
      ['id', id],
      ...(dn === undefined ? [] : [['dn', dn] as const]),
      ...logins.map((login) => ['login', login] as const),
      ...emails.map((email) => ['email', email] as const),
    ]);
    this.#records.set(number, record);
    this.#size += 1;
    if (disabled !== null) this.#disabled.set(number, disabled);
    this.#index(number, 'id', id);
    if (dn !== undefined) this.#index(number, 'dn', nameForm(dn));
    for (const login of new Set(logins.map(FORMS.login))) this.#index(number, 'login', login);
    for (const email of new Set(emails.map(FORMS.email))) this.#index(number, 'email', email);
    return true;
  }

  /** The numbers of the users with a value, in the order of the list. */
  find(kind: FoundBy, value: string): readonly number[] {
    const key = FORMS[kind](value);
    const hash = hashOf(kind, key);
    const found: number[] = [];
    for (let place = this.#chainOf(hash); place !== NONE; place = this.#next.get(place)) {
      const owner = this.#owners.get(place);
      if (this.#hashes.get(place) === hash && this.#has(owner, kind, key)) found.push(owner);
    }
    return found.reverse();
  }

  /** Marks a user as disabled. Earlier evidence is kept. */
  disable(number: number, disabled: Disabled): void {
    if (!this.#disabled.has(number)) this.#disabled.set(number, disabled);
  }

  disabledOf(number: number): DirectoryUser['disabled'] {
    return this.#disabled.get(number) ?? null;
  }

  idOf(number: number): string {
    return this.#texts(number, 'id')[0] ?? '';
  }

  dnOf(number: number): string | undefined {
    return this.#texts(number, 'dn')[0];
  }

  at(number: number): DirectoryUser {
    const dn = this.dnOf(number);
    return {
      id: this.idOf(number),
      ...(dn !== undefined && { dn }),
      logins: this.#texts(number, 'login'),
      emails: this.#texts(number, 'email'),
      disabled: this.disabledOf(number),
    };
  }

  /** All users, in the order they were added. */
  *[Symbol.iterator](): Generator<DirectoryUser> {
    for (let number = 0; number < this.#size; number += 1) yield this.at(number);
  }

  #write(texts: readonly (readonly [FoundBy, string])[]): number {
    // A record ends with a header of zeros; a UTF-16 code unit takes at most three bytes of UTF-8.
    const room = texts.reduce((sum, [, text]) => sum + HEADER_BYTES + text.length * 3, HEADER_BYTES);
    if (room > BLOCK_BYTES) throw tooMuch('lists a user whose names and addresses are longer than 1 MB');
    if (this.#free + room > BLOCK_BYTES) {
      if (this.#blocks.length === MAX_BLOCKS) throw tooMuch('lists more users than fit in 4 GB');
      this.#blocks.push(Buffer.alloc(BLOCK_BYTES));
      this.#free = 0;
    }
    const block = this.#blocks.at(-1) ?? Buffer.alloc(0);
    const start = (this.#blocks.length - 1) * BLOCK_BYTES + this.#free;
    for (const [kind, text] of texts) {
      const length = block.write(text, this.#free + HEADER_BYTES);
      block.writeUInt32LE(KINDS.indexOf(kind) * 2 ** LENGTH_BITS + length, this.#free);
      this.#free += HEADER_BYTES + length;
    }
    this.#free += HEADER_BYTES;
    return start;
  }

  #texts(number: number, kind: FoundBy): string[] {
    const record = this.#records.get(number);
    const block = this.#blocks[record >>> BLOCK_BITS] ?? Buffer.alloc(0);
    const wanted = KINDS.indexOf(kind);
    const texts: string[] = [];
    // The id comes first, and may be empty.
    for (let place = record % BLOCK_BYTES, isFirst = true; ; isFirst = false) {
      const header = block.readUInt32LE(place);
      if (header === 0 && !isFirst) return texts;
      const start = place + HEADER_BYTES;
      place = start + (header & (2 ** LENGTH_BITS - 1));
      if (header >>> LENGTH_BITS === wanted) texts.push(block.toString('utf8', start, place));
    }
  }

  #has(number: number, kind: FoundBy, key: string): boolean {
    return this.#texts(number, kind).some((text) => FORMS[kind](text) === key);
  }

  #index(number: number, kind: FoundBy, key: string): void {
    if (this.#values === this.#chains.length) this.#chains = this.#chained(this.#chains.length * 2);
    const place = this.#values;
    const hash = hashOf(kind, key);
    this.#hashes.set(place, hash);
    this.#owners.set(place, number);
    this.#link(this.#chains, place, hash);
    this.#values += 1;
  }

  #link(chains: Uint32Array, place: number, hash: number): void {
    const chain = hash & (chains.length - 1);
    this.#next.set(place, chains[chain] ?? NONE);
    chains[chain] = place;
  }

  #chained(length: number): Uint32Array {
    const chains = new Uint32Array(length).fill(NONE);
    for (let place = 0; place < this.#values; place += 1) this.#link(chains, place, this.#hashes.get(place));
    return chains;
  }

  #chainOf(hash: number): number {
    return this.#chains[hash & (this.#chains.length - 1)] ?? NONE;
  }
}

/** 32-bit numbers in blocks. Blocks are never copied, unlike one growing array. */
class NumberList {
  readonly #blocks: Uint32Array[] = [];

  get(place: number): number {
    return this.#blocks[place >>> LIST_BITS]?.[place % 2 ** LIST_BITS] ?? 0;
  }

  /** @param place At most one past the last. */
  set(place: number, value: number): void {
    const number = place >>> LIST_BITS;
    const block = this.#blocks[number] ?? new Uint32Array(2 ** LIST_BITS);
    this.#blocks[number] = block;
    block[place % 2 ** LIST_BITS] = value;
  }
}

/** Whether a user has a value, in the forms that {@link DirectoryUsers} compares. */
export function hasValue({ id, dn, logins, emails }: DirectoryUser, { kind, value }: Identifier): boolean {
  const texts = { id: [id], dn: dn === undefined ? [] : [dn], login: logins, email: emails }[kind];
  return texts.some((text) => FORMS[kind](text) === FORMS[kind](value));
}

/** The DN of an LDAP entry, in the form for comparisons. */
export function nameForm(dn: string): string {
  return normalizedName(dn) ?? dn.toLowerCase();
}

/**
 * A login name or email address in the form for comparisons: in lower case, and in NFC (Unicode Standard
 * Annex 15). The ohm, kelvin and ångström signs are not converted to letters: otherwise someone could
 * register a look-alike of another user's name.
 */
function loginForm(text: string): string {
  return text.replace(/[^\u2126\u212a\u212b]+/g, (part) => part.normalize('NFC').toLowerCase());
}

function hashOf(kind: FoundBy, key: string): number {
  return textHash(key, KINDS.indexOf(kind)) >>> 0;
}

function tooMuch(what: string): TokenctlError {
  return new TokenctlError('target_misbehaved', `The directory ${what}`, {
    hint: 'Narrow its base or filter.',
  });
}
