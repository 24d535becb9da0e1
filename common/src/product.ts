/**
 * The header in which a program with a controller's API states its product. AWX sends `AWX`, a platform
 * gateway `AAP gateway` [recorded]; others send no such header.
 *
 * The value is not trustworthy: a server in the place of a controller can send anything. It may select words
 * (a hint, a name), but must not skip any check.
 */
export const PRODUCT_HEADER = 'x-api-product-name';

/** The value that tokenctl's automation service sends with every response. */
export const SERVICE_PRODUCT = 'tokenctl';

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Whether a response claims to come from tokenctl's service. */
export function isFromService(headers: Headers): boolean {
  return headers[PRODUCT_HEADER] === SERVICE_PRODUCT;
}

/** Whether a response claims to come from a controller or gateway. */
export function isFromProduct(headers: Headers): boolean {
  return headers[PRODUCT_HEADER] !== undefined && !isFromService(headers);
}
