/**
 * Breaks a line at spaces and after commas so that each part has `width` characters at most; a word that
 * is longer than that is broken where it has to be. At least one part.
 */
export function wrapped(text: string, width: number): string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest.length > width) {
    const gap = Math.max(rest.lastIndexOf(' ', width), rest.lastIndexOf(',', width - 1) + 1);
    const end = gap > 0 ? gap : width;
    parts.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return rest === '' && parts.length > 0 ? parts : [...parts, rest];
}
