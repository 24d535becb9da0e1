/**
 * How a program that answers as a controller does states what it is. A controller of AWX sends `AWX`, a platform gateway `AAP gateway`
 * [recorded]; others send no such header.
 *
 * It is a word of the sender: whoever answers in the place of a controller can send any. It may choose words (which hint, which name),
 * and must not spare anybody a check.
 */
export const PRODUCT_HEADER = 'x-api-product-name';

/** What the automation service of tokenctl sends, with every answer. */
export const SERVICE_PRODUCT = 'tokenctl';

/** The headers of an answer, as clients give them. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Whether an answer says that it comes from the service of tokenctl. */
export function isFromService(headers: Headers): boolean {
  return headers[PRODUCT_HEADER] === SERVICE_PRODUCT;
}

/** Whether an answer says that it comes from a controller or gateway. */
export function isFromProduct(headers: Headers): boolean {
  return headers[PRODUCT_HEADER] !== undefined && !isFromService(headers);
}
