// A worker thread: verifies the answers of SAML identity providers that it is sent, one after the other.
import { parentPort } from 'node:worker_threads';
import { type SamlAnswer, verifySaml } from './verify-saml.ts';

parentPort?.on('message', async (answer: SamlAnswer) => {
  parentPort?.postMessage(await verifySaml(answer));
});
