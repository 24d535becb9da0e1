import { DOMParser } from '@xmldom/xmldom';

/** XML namespaces of SAML 2.0 and of signatures. */
export const NAMESPACES = {
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
} as const;

/**
 * Parses XML with the SAML library's parser, so that both see the same document, and returns the root
 * element. The caller checks size limits and document types. Throws for XML that is not well formed.
 */
export function parseXml(text: string): Element {
  const fail = (message: unknown) => {
    throw new Error(String(message).split('\n')[0]?.slice(0, 200));
  };
  const handlers = { warning: () => undefined, error: fail, fatalError: fail };
  const { documentElement } = new DOMParser({ errorHandler: handlers }).parseFromString(text, 'text/xml');
  return documentElement ?? fail('no element');
}

/** The elements with this name below an element, or only its children. */
export function elements(
  parent: Element,
  { namespace, name, children = false }: { namespace: string; name: string; children?: boolean },
): readonly Element[] {
  const found = Array.from(parent.getElementsByTagNameNS(namespace, name));
  return children ? found.filter((element) => element.parentNode === parent) : found;
}

/** The first child with this name, if there is one. */
export function child(
  parent: Element,
  namespace: keyof typeof NAMESPACES,
  name: string,
): Element | undefined {
  return elements(parent, { namespace: NAMESPACES[namespace], name, children: true })[0];
}
