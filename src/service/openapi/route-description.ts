import type { Endpoint } from '../endpoint.ts';

/** What a route that is no {@link Endpoint} says about itself in the OpenAPI description. */
export interface RouteDescription {
  readonly summary: string;
  readonly description?: string;
  /** What it can be asked with, where the route takes more methods only to refuse them. */
  readonly methods?: readonly string[];
  /** The media type of its answers; JSON where it is not said. */
  readonly produces?: 'application/json' | 'application/xml' | 'text/html' | 'text/plain' | 'text/css';
  /** The fields of a form that it takes with POST. */
  readonly form?: Readonly<Record<string, { readonly description: string; readonly required?: true }>>;
  /** The parameters of its query string. */
  readonly query?: Readonly<Record<string, { readonly description: string; readonly required?: true }>>;
  /** Whether anybody may ask. */
  readonly anonymous?: true;
  /** What its answers mean, by status; 200 where it is not said. */
  readonly answers?: Readonly<Record<string, string>>;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The endpoint that the route serves. */
    readonly endpoint?: Endpoint;
    readonly describes?: RouteDescription;
    /** A redirect to the same path with its slash: not worth a description. */
    readonly redirect?: true;
  }
}
