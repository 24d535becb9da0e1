import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type BrokeredToken, findIdentity, requestToken, returnToken } from '../../app/exec/broker-client.ts';
import { credentialVariables, programEnvironment } from '../../app/exec/program-environment.ts';
import { runProgram, SignalRelay, signalCode } from '../../app/exec/run-program.ts';
import { hostVariables } from '../../config/layers.ts';
import { lines, list, would } from '../../reports/document.ts';
import { secondsText } from '../../reports/tables/text.ts';
import type { PlannedChange } from '../change/change.ts';
import { writeNotice } from '../output/streams.ts';
import { type Ended, type ExecJson, type ExecRequest, requireProgram } from './exec-flow.ts';

/**
 * Plans to run a program with a token that a broker issues for the identity of this run. No context is
 * needed.
 * @throws TokenctlError `usage` without a program, and for an invalid variable.
 */
export function viaFlow(request: ExecRequest, broker: string): PlannedChange<Ended, ExecJson> {
  const { flags, command } = request;
  const { name, found } = requireProgram(command, flags.env);
  const scope = flags.scope ?? 'as the rule says';
  const program = found.path ?? name;
  return {
    plan: [
      lines(
        would`run ${program} with a token of the broker ${broker}.`,
        list(
          'Give it the identity of this run, and get a token.',
          'Run the program.',
          'Give the token back when the program ends, or on a signal.',
        ),
      ),
    ],
    question: 'unneeded',
    isElsewhere: true,
    refusal: () => (found.path === null ? new TokenctlError('not_found', found.why) : undefined),
    async act() {
      if (found.path !== null) return await withBrokered(request, { path: found.path, broker });
      writeNotice(found.why);
      return { code: found.code, failure: undefined };
    },
    ended: ({ failure }) => ({ document: [], failure }),
    json: ({ dryRun, done }) => ({
      ...{ dryRun, user: '', address: broker, scope, seconds: 0, program, exitCode: done?.code ?? null },
    }),
  };
}

async function withBrokered(
  { runtime, flags, command }: ExecRequest,
  { path, broker }: { path: string; broker: string },
): Promise<Ended> {
  using relay = new SignalRelay();
  const source = { file: flags['identity-file'], variable: flags['identity-env'] };
  const asked = { ...source, audience: flags['identity-audience'] };
  const identity = await findIdentity(broker, asked, process.env);
  const wanted = { scope: flags.scope, audience: flags['via-context'] };
  const made = await requestToken(broker, identity.token, wanted);
  writeNotice(
    `The token is given back when the program ends; it is valid for ${secondsText(made.seconds)} at most.`,
  );
  const leftOut = new Set([...credentialVariables(runtime.configuration), ...identity.variables]);
  // If the broker does not name the controller, the runner may know it.
  if (made.host === null)
    for (const name of [...hostVariables.HOST, ...hostVariables.VERIFY_SSL]) leftOut.delete(name);
  const environment = programEnvironment({
    ...{ environment: process.env, leftOut, token: made.value, names: flags.env ?? [] },
    host: made.host === null ? null : { url: made.host, verifyTls: true },
  });
  const [ran] = await Promise.allSettled([
    relay.received === null
      ? runProgram({ path, command, environment, relay, notify: writeNotice })
      : signalCode(relay.received),
  ]);
  const failure = await giveBack(broker, made);
  if (ran.status === 'rejected') throw ran.reason;
  if (failure !== undefined && ran.value !== 0) writeNotice(`Error: ${failure.message}.`);
  return { code: ran.value, failure: ran.value === 0 ? failure : undefined };
}

async function giveBack(broker: string, { value, seconds }: BrokeredToken) {
  try {
    await returnToken(broker, value);
    return undefined;
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    return new TokenctlError(
      'partly_done',
      `The token was not given back: ${error.message}. It is valid until ${secondsText(seconds)} after its making`,
      { hint: 'The broker ends it then.', cause: error },
    );
  }
}
