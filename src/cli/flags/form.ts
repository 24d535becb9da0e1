import type { FlagInput } from '@oclif/core/interfaces';

/** What the console's form of a command says about one of its flags. The rest is in the definition of the flag. */
interface FormField {
  /** As the form shows it, as a check box. Without it, the page has a field of its own or none. */
  readonly label?: string;
  /** The flags that select, with which it can be used; all of them without this. */
  readonly scopes?: readonly string[];
  /** The flags that select, with which it is on where nothing is chosen. */
  readonly onFor?: readonly string[];
}

/** The flags of a command that the console takes, in the order in which it writes them. */
export interface Form<Flags extends FlagInput = FlagInput, Name extends keyof Flags = keyof Flags> {
  readonly flags: Flags;
  readonly fields: { readonly [Each in Name]: FormField };
}

/** The form of a command: it takes only the flags that are listed. */
export function formOf<Flags extends FlagInput, Name extends keyof Flags>(
  flags: Flags,
  fields: Form<Flags, Name>['fields'],
): Form<Flags, Name> {
  return { flags, fields };
}

/** How a change passes the rule of two persons. */
export const guardFields = { 'plan-out': {}, 'require-approval': {}, 'break-glass': {} };
