import { z } from 'zod';
import type { Activity, User } from '../../domain/token.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import type {
  ActivitySelector,
  AuthenticationSettings,
  Patience,
} from '../../operations/ports/target-parts.ts';
import type { Connection, Credential, HttpRequest, HttpResponse } from './connection.ts';
import { parseJson } from './responses.ts';

/** The parameters of a query string. If a name occurs twice, both conditions apply. */
export type Query = readonly (readonly [name: string, value: string])[];

/** Reads an item from a response body; null for an invalid one. */
export type Reader<Item> = (body: unknown) => Item | null;

/** Reads what matches a schema. */
export function readerOf<Item>(schema: z.ZodType<Item>): Reader<Item> {
  return (body) => schema.safeParse(body).data ?? null;
}

/** The differences between the APIs of a controller and a platform gateway. They share everything else. */
export interface Dialect {
  readonly name: 'controller' | 'gateway';
  readonly showsLastUse: boolean;
  /** Reads a user from only the response body. */
  readonly readUser: Reader<User>;
  /** Creates a reader that also knows each user's identity provider. */
  createUserReader(api: Api): Promise<Reader<User>>;
  readonly activity: ActivityDialect;
  readonly settings: SettingsDialect;
}

/** An entry of the activity stream with the access tokens it refers to. */
export interface ActivityEntry extends Activity {
  readonly tokenIds: readonly number[];
}

/** The path of the activity stream, and how to query it. */
export interface ActivityDialect {
  readonly path: string;
  /** The queries that together return at least the selected entries. */
  queries(selector: ActivitySelector): Query[];
  latestOf(userId: number): Query;
  readonly read: Reader<ActivityEntry>;
}

/** The path of the authentication settings, and how to write them. */
export interface SettingsDialect {
  readonly path: string;
  /** The method that changes some settings and keeps the others. */
  readonly method: 'PATCH' | 'PUT';
  readonly read: Reader<AuthenticationSettings>;
  /**
   * The request body for a change.
   * @param present The settings that the target has, in its own names.
   * @throws TokenctlError `unsupported` for settings that do not exist there.
   */
  toBody(change: Partial<AuthenticationSettings>, present: object): object;
}

interface ApiOptions {
  readonly connection: Connection;
  readonly dialect: Dialect;
  /** The component's path behind a gateway, such as `/api/controller`; empty for a component that responds directly. */
  readonly prefix: string;
  /** The root path of its API, such as `/api/v2/`. */
  readonly root: string;
  /** The components of the platform; undefined if no gateway responds. */
  readonly components?: TargetDescription['components'];
  /** The gateway in front of this component. */
  readonly gateway?: Api;
}

/** The REST API of one component. Paths are relative to its root: `tokens/`. */
export class Api {
  readonly dialect: Dialect;
  readonly components: TargetDescription['components'];
  /** The gateway in front of it, which also accepts the gateway's own tokens; undefined if there is none. */
  readonly gateway: Api | undefined;
  readonly #connection: Connection;
  readonly #prefix: string;
  readonly #root: string;

  constructor({ connection, dialect, prefix, root, components, gateway }: ApiOptions) {
    this.dialect = dialect;
    this.components = components;
    this.gateway = gateway;
    this.#connection = connection;
    this.#prefix = prefix;
    this.#root = root;
  }

  /** Without credentials. */
  get address(): string {
    return this.#connection.address + this.#prefix;
  }

  answeredBy(): string {
    return this.#connection.answeredBy(this.address);
  }

  get credential(): Credential {
    return this.#connection.credential;
  }

  get proxy(): string | null {
    return this.#connection.proxy;
  }

  get transport(): TargetDescription['transport'] {
    return this.#connection.transport;
  }

  send(request: HttpRequest): Promise<HttpResponse> {
    return this.#connection.send({ ...request, path: this.#root + request.path });
  }

  /** Requests a path with a token in place of the credential. */
  getAs(token: string, path: string, more: Pick<HttpRequest, 'accept'> = {}): Promise<HttpResponse> {
    return this.send({ method: 'GET', path, authorization: `Bearer ${token}`, ...more });
  }

  /** Reads JSON. `what` is as in {@link parseJson}, whose errors it throws. */
  async getJson(path: string, what: string, patience?: Patience): Promise<unknown> {
    return parseJson(await this.send({ method: 'GET', path, ...patience }), this, what);
  }
}

/** Schema of an id: an integer from 1. */
export const id = z.number().int().positive();

/** Schema of a user as shown in other objects. */
export const namedUser = z.object({ id, username: z.string() });

/** Schema of a date and time; its output is a Date. */
export const instant = z.string().transform((text, context) => {
  const date = new Date(text);
  if (!Number.isNaN(date.getTime())) return date;
  context.addIssue('not a date');
  return z.NEVER;
});
