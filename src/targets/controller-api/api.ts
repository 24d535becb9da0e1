import type { TargetDescription } from '../../operations/ports/target-description.ts';
import type { Connection, Request } from './connection.ts';
import type { Credential } from './credential.ts';
import type { Dialect } from './dialect.ts';
import type { Answer } from './receiver.ts';

/** What is known of a component once it was recognized. */
export interface ApiOptions {
  readonly connection: Connection;
  readonly dialect: Dialect;
  /** Below the connection's address: empty, or where a gateway passes requests on to the component. */
  readonly place: string;
  /** Below the place: `/api/v2/`. */
  readonly root: string;
  /** Which components the platform has; absent where no gateway answers. */
  readonly components?: TargetDescription['components'];
  /** The gateway that passes requests on to this component. */
  readonly gateway?: Api;
}

/** One component's REST API: the way to it, and the dialect that it speaks. Paths are below its root: `tokens/`. */
export class Api {
  readonly dialect: Dialect;
  readonly components: TargetDescription['components'];
  /** The gateway before it, which lets the gateway's own tokens through as well; undefined where none is. */
  readonly gateway: Api | undefined;
  readonly #connection: Connection;
  readonly #place: string;
  readonly #root: string;

  constructor({ connection, dialect, place, root, components, gateway }: ApiOptions) {
    this.dialect = dialect;
    this.components = components;
    this.gateway = gateway;
    this.#connection = connection;
    this.#place = place;
    this.#root = root;
  }

  /** Where the component is, without credentials. */
  get address(): string {
    return this.#connection.address + this.#place;
  }

  get credential(): Credential {
    return this.#connection.credential;
  }

  get transport(): TargetDescription['transport'] {
    return this.#connection.transport;
  }

  /** Makes a request, as {@link Connection.send}. */
  send(request: Request): Promise<Answer> {
    return this.#connection.send({ ...request, path: this.#root + request.path });
  }
}
