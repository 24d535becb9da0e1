import type { ServiceContext } from '../context.ts';
import type { Settings } from '../settings/settings.ts';
import type { ClientRecord } from '../store/clients.ts';
import type { TokenResponse } from './new-tokens.ts';
import type { Parameters } from './parameters.ts';

/** A request to the token endpoint from a client that was authenticated and may use the grant. */
interface TokenRequest {
  readonly service: ServiceContext;
  readonly settings: Settings;
  readonly client: ClientRecord;
  /** What the client is counted under for wrong passwords. */
  readonly network: string;
  readonly parameters: Parameters;
}

/** One way to obtain tokens. Throws OAuthError or GrantRefused. */
export type Grant = (request: TokenRequest) => Promise<TokenResponse>;
