import type { FlagInput } from '@oclif/core/interfaces';

/** What the console's form of a command adds to a flag's definition. */
interface FormField {
  /** The label of its check box. Without one, the page has a separate field for it, or none. */
  readonly label?: string;
  /** The selection flags that it can be used with; default: all. */
  readonly scopes?: readonly string[];
  /** The selection flags for which it is on by default. */
  readonly onFor?: readonly string[];
}

/** The flags of a command that the console supports, in their order. */
export interface Form<Flags extends FlagInput = FlagInput, Name extends keyof Flags = keyof Flags> {
  readonly flags: Flags;
  readonly fields: { readonly [Each in Name]: FormField };
}

/** The form of a command: it supports only the listed flags. */
export function formOf<Flags extends FlagInput, Name extends keyof Flags>(
  flags: Flags,
  fields: Form<Flags, Name>['fields'],
): Form<Flags, Name> {
  return { flags, fields };
}

/** How a change passes the four-eyes rule. */
export const guardFields = { 'plan-out': {}, 'require-approval': {}, 'break-glass': {} };
