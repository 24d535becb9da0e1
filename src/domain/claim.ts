/**
 * A statement about the target, with what it rests on: `checked` was read or tried after the act by an account that sees
 * everything the statement is about; `known` is what a controller of this version does; anything else is not claimed.
 */
export type Claim<State extends string> =
  | {
      readonly state: State;
      readonly basis: 'checked';
      /** How it was found out, as a sentence. */
      readonly how: string;
    }
  | {
      readonly state: State;
      readonly basis: 'known';
      /** The product and its version: `controller 24.6.1`. */
      readonly version: string;
      readonly how: string;
    }
  | {
      readonly state: 'not_checked';
      readonly basis: 'not_checked';
      /** Why not, as a sentence. */
      readonly how: string;
    };
