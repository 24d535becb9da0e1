/**
 * JSON with a space after each comma and colon, as the controller's own entries of the activity stream
 * have it (Python's `json.dumps`).
 */
export function spacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${spacedJson(each)}`);
  return `{${members.join(', ')}}`;
}
