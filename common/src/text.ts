/** Control characters, and invisible characters that join, hide or reorder text. */
const UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/**
 * Text from others in a form that is safe to show: control characters could drive a terminal, direction marks
 * make one name read as another, and invisible characters make two names look alike. Each is shown in JSON's
 * notation, code unit by code unit.
 * @param kept Characters that are not escaped, such as line feeds.
 */
export function escapeUnsafe(text: string, kept = ''): string {
  return text.replace(UNSAFE, (found) => {
    if (kept.includes(found)) return found;
    const units = Array.from({ length: found.length }, (_, unit) => found.charCodeAt(unit));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
  });
}

/** The value of an attribute, or other text for HTML that stays as it is, with what has a meaning there escaped. */
export function escapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** The JSON in a text; null for a text that is none. */
export function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The words of a text, which spaces and line feeds separate: a long list of names is read as such. */
export function words(text: string): readonly string[] {
  return text.split(/\s+/);
}

/** Where an integer gets a comma. */
const THOUSANDS = /\B(?=(?:\d{3})+$)/g;

/** A text with a capital first letter. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** An integer for people, with commas at thousands. `Intl.NumberFormat` would take 10 ms at every command's start. */
export function numberText(value: number): string {
  return String(value).replace(THOUSANDS, ',');
}

/** The first of many texts, and the number of others: `alice, bob and 3 more`; with semicolons `a; b; and 3 more`. */
export function someOf(
  texts: readonly (string | number)[],
  most: number,
  between: ', ' | '; ' = ', ',
): string {
  const named = texts.slice(0, most).join(between);
  const more = texts.length - most;
  return more > 0 ? `${named}${between === ', ' ? ' ' : between}and ${numberText(more)} more` : named;
}
