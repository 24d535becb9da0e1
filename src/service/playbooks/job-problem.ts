/** Why a job cannot run at all: it ends in `error`, and the message explains it to whoever launched it. */
export class JobProblem extends Error {
  override readonly name = 'JobProblem';
}
