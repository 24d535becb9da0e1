import type { CleaningAct } from '../../domain/investigation/cleaning.ts';

/** Ends what an intruder left behind, one object at a time. Every method throws `TokenctlError` as a target does. */
export interface Cleaner {
  /**
   * Carries out an act. What is so already stays so.
   *
   * @param values Of `restore`: the values to write, by field. They may be secrets.
   * @returns `unchanged` if there was nothing to do: the object is deleted, or the job has ended.
   * @throws TokenctlError `unsupported` where the target refuses it, for example because the object is in use.
   */
  apply(act: CleaningAct, values: Readonly<Record<string, unknown>>): Promise<'done' | 'unchanged'>;
}
