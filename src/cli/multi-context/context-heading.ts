/** What stands above the part of one context in a text about several. */
export function contextHeading(context: string): string {
  return `== ${context} ==\n`;
}
