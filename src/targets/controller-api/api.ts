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

/**
 * Where the APIs of a controller and a platform gateway differ. They share everything else: the paths of tokens, users and
 * applications below the root, filters and pages.
 */
export interface Dialect {
  readonly name: 'controller' | 'gateway';
  /** Whether the response for a token contains its last use. */
  readonly showsLastUse: boolean;
  /** Reads a user from the response body alone. */
  readonly readUser: Reader<User>;
  /** Creates a reader that also knows the identity provider of each user. */
  createUserReader(api: Api): Promise<Reader<User>>;
  readonly activity: ActivityDialect;
  readonly settings: SettingsDialect;
}

/** An entry of the activity stream with the access tokens it refers to. */
export interface ActivityEntry extends Activity {
  readonly tokenIds: readonly number[];
}

/** Where the activity stream is, and how to query it. */
export interface ActivityDialect {
  readonly path: string;
  /** The queries that together return at least the entries that a selector names. */
  queries(selector: ActivitySelector): Query[];
  latestOf(userId: number): Query;
  readonly read: Reader<ActivityEntry>;
}

/** Where the authentication settings are, and how to write them. */
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

/** What is known of a component once it is recognized. */
interface ApiOptions {
  readonly connection: Connection;
  readonly dialect: Dialect;
  /** The path of the component behind a gateway, such as `/api/controller`; empty for the component that responds itself. */
  readonly prefix: string;
  /** The path of its API: `/api/v2/`. */
  readonly root: string;
  /** Which components the platform has; undefined if no gateway responds. */
  readonly components?: TargetDescription['components'];
  /** The gateway in front of this component. */
  readonly gateway?: Api;
}

/** The REST API of one component. Paths are relative to its root: `tokens/`. */
export class Api {
  readonly dialect: Dialect;
  readonly components: TargetDescription['components'];
  /** The gateway in front of it, which accepts the gateway's own tokens as well; undefined without a gateway. */
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

  /** The address of the component, without credentials. */
  get address(): string {
    return this.#connection.address + this.#prefix;
  }

  /** As {@link Connection.answeredBy}. */
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

  /** Sends a request, as {@link Connection.send}. */
  send(request: HttpRequest): Promise<HttpResponse> {
    return this.#connection.send({ ...request, path: this.#root + request.path });
  }

  /** Reads JSON; `what` as of {@link parseJson}, whose errors it throws. */
  async getJson(path: string, what: string, patience?: Patience): Promise<unknown> {
    return parseJson(await this.send({ method: 'GET', path, ...patience }), this, what);
  }
}

/** Schema of an id: an integer from 1. */
export const id = z.number().int().positive();

/** Schema of a date and time; its output is a Date. */
export const instant = z.string().transform((text, context) => {
  const date = new Date(text);
  if (!Number.isNaN(date.getTime())) return date;
  context.addIssue('not a date');
  return z.NEVER;
});
