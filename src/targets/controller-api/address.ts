import { TokenctlError } from '../../domain/errors.ts';

/** A controller's address, taken apart. */
export interface Address {
  /** Scheme, host and port. */
  readonly origin: string;
  /** The path under which the controller's own paths begin, without a slash at the end; mostly empty. */
  readonly base: string;
  readonly encrypted: boolean;
}

/**
 * Reads a controller's address.
 *
 * @throws TokenctlError `configuration` for anything but an http or https URL without credentials.
 */
export function parseAddress(address: string): Address {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new TokenctlError('configuration', "The controller's address is not an http or https URL", {
      hint: 'Write it like https://controller.example.org.',
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw new TokenctlError('configuration', `The address of ${url.host} carries credentials`, {
      hint: 'Leave them out of the address: it is shown and recorded.',
    });
  }
  return {
    origin: url.origin,
    base: url.pathname.replace(/\/+$/, ''),
    encrypted: url.protocol === 'https:',
  };
}
