import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import type { Application, Token } from '../../src/domain/token.ts';
import type {
  ApplicationDetails,
  HeldRole,
  Passwords,
  Roles,
} from '../../src/operations/ports/target-parts.ts';

/** What these changes work on. */
interface Estate {
  readonly alive: Map<number, Token>;
  readonly programs: Application[];
  readonly values: { readonly AUTH_BASIC_ENABLED: boolean };
}

/** The applications, passwords and roles of a target in memory, as of a controller over REST. */
export class MemoryAccess {
  /** The passwords by user id, as they were set. */
  readonly passwords = new Map<number, string>();
  /** The roles by user id. */
  readonly held = new Map<number, HeldRole[]>();
  /** Called before each change with its name; what it throws keeps everything as it is. */
  onChange: (what: string) => void = () => undefined;
  /** Whether it takes new passwords and leaves them as they are, as a controller does for external accounts. */
  ignoresPasswords = false;
  readonly #target: Estate;

  constructor(target: Estate) {
    this.#target = target;
  }

  async application(id: number): Promise<ApplicationDetails | null> {
    const found = this.#target.programs.find((each) => each.id === id);
    if (found === undefined) return await Promise.resolve(null);
    return {
      ...found,
      description: '',
      clientId: `client-${id}`,
      organizationId: 1,
      redirectUris: [],
      skipAuthorization: false,
    };
  }

  deleteApplication(id: number): Promise<boolean> {
    return this.#change('application', () => {
      const { programs, alive } = this.#target;
      const place = programs.findIndex((each) => each.id === id);
      if (place < 0) return false;
      programs.splice(place, 1);
      for (const token of [...alive.values()]) if (token.application?.id === id) alive.delete(token.id);
      return true;
    });
  }

  replaceClientSecret(id: number): Promise<Secret> {
    return this.#change('secret', () => {
      const found = this.#target.programs.find((each) => each.id === id);
      if (found?.clientType === 'confidential') return new Secret(`new-secret-of-${id}`);
      throw new TokenctlError('unsupported', 'A public client');
    });
  }

  readonly ofPasswords: Passwords = {
    set: (userId, password) =>
      this.#change('password', () => {
        if (!this.ignoresPasswords) this.passwords.set(userId, password.reveal());
      }),
    accepts: ({ id }, password) => {
      const isOn = this.#target.values.AUTH_BASIC_ENABLED;
      return Promise.resolve(isOn && this.passwords.get(id) === password.reveal());
    },
  };

  readonly ofRoles: Roles = {
    list: (userId) => Promise.resolve(this.held.get(userId) ?? []),
    set: (userId, role, held) =>
      this.#change(`role ${role}`, () => {
        const others = (this.held.get(userId) ?? []).filter((each) => each.role !== role);
        this.held.set(userId, held ? [...others, { role, name: `role ${role}` }] : others);
      }),
  };

  async #change<T>(what: string, act: () => T): Promise<T> {
    this.onChange(what);
    return await Promise.resolve(act());
  }
}
