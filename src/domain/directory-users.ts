import { TokenctlError } from '@tokenctl/common/errors.ts';
import { textHash } from './compact-collections.ts';
import { normalizedName } from './distinguished-name.ts';

/** A user as a directory or an identity provider knows it. */
export interface DirectoryUser {
  /** The provider's own id of the user, which never changes. */
  readonly id: string;
  /** The names that the user signs in with. */
  readonly logins: readonly string[];
  readonly emails: readonly string[];
  /** The name of the entry in an LDAP directory; absent elsewhere. */
  readonly dn?: string;
  /** What shows that the user may not sign in any more; null for a user who may. */
  readonly disabled: Disabled | null;
}

/** Evidence that a user is disabled. */
interface Disabled {
  /** The attribute as the provider calls it. */
  readonly attribute: string;
  readonly value: string;
  /** Since when, as the provider states it; null where it does not. */
  readonly since: string | null;
}

/** By what users of a directory are found. Letter case, and how accents are written, make no difference but in ids. */
export type FoundBy = 'id' | 'dn' | 'login' | 'email';

/** A value by which a user of a directory is found. */
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

/** What is written before each text: its kind in the two highest bits, and its length in bytes. */
const HEADER_BYTES = 4;
const LENGTH_BITS = 30;
/** A record lies in one block, so that a position is the number of a block and a place in it. */
const BLOCK_BITS = 20;
const BLOCK_BYTES = 2 ** BLOCK_BITS;
const MAX_BLOCKS = 2 ** (32 - BLOCK_BITS);
const NONE = 0xffff_ffff;
/** How many numbers one block of a list has. */
const LIST_BITS = 14;

/**
 * The users of a directory, each once, by the values that match them. A hundred thousand take about 20 MB: their texts are
 * bytes in large blocks, and only users who are disabled have an object. Users have numbers, from 0 on, in the order of the list.
 */
export class DirectoryUsers {
  readonly #blocks: Buffer[] = [];
  #free = BLOCK_BYTES;
  /** Where the record of each user begins. */
  readonly #records = new NumberList();
  #size = 0;
  readonly #disabled = new Map<number, Disabled>();
  /** Each value that finds a user, in chains of the same hash: its hash, the user, and the next of the chain. */
  readonly #hashes = new NumberList();
  readonly #owners = new NumberList();
  readonly #next = new NumberList();
  #values = 0;
  #chains: Uint32Array = new Uint32Array(1024).fill(NONE);

  /** How many users there are. */
  get size(): number {
    return this.#size;
  }

  /** How many of them are disabled. */
  get disabledCount(): number {
    return this.#disabled.size;
  }

  /**
   * Adds a user; false for one whose id is there already, of which nothing is added. Throws
   * `target_misbehaved` for a user whose names and addresses are longer than 1 MB, and for too many users.
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

  /** States that a user is disabled. What disabled the user before stays. */
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

  /** The user with a number. */
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

  /** All users, as they were added. */
  *[Symbol.iterator](): Generator<DirectoryUser> {
    for (let number = 0; number < this.#size; number += 1) yield this.at(number);
  }

  #write(texts: readonly (readonly [FoundBy, string])[]): number {
    // A record ends with a header of zeros; a unit of UTF-16 is three bytes of UTF-8 at most.
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

/** Numbers of 32 bits in blocks: one growing array would be copied again and again. */
class NumberList {
  readonly #blocks: Uint32Array[] = [];

  get(place: number): number {
    return this.#blocks[place >>> LIST_BITS]?.[place % 2 ** LIST_BITS] ?? 0;
  }

  /** @param place At most one behind the last. */
  set(place: number, value: number): void {
    const number = place >>> LIST_BITS;
    const block = this.#blocks[number] ?? new Uint32Array(2 ** LIST_BITS);
    this.#blocks[number] = block;
    block[place % 2 ** LIST_BITS] = value;
  }
}

/** Whether a user has a value, in the forms in which {@link DirectoryUsers} compares them. */
export function hasValue({ id, dn, logins, emails }: DirectoryUser, { kind, value }: Identifier): boolean {
  const texts = { id: [id], dn: dn === undefined ? [] : [dn], login: logins, email: emails }[kind];
  return texts.some((text) => FORMS[kind](text) === FORMS[kind](value));
}

/** A name of an LDAP entry in the form in which names are compared. */
export function nameForm(dn: string): string {
  return normalizedName(dn) ?? dn.toLowerCase();
}

/**
 * A login name or email address in the form in which they are compared: without letter case, and with a letter and its accents as one
 * character (NFC of Unicode Standard Annex 15). The signs of ohm, kelvin and ångström stay what they are: they would become letters,
 * and someone could register a look-alike of another user's name.
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
