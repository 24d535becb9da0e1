// A worker thread: checks stretches of the log that it is told of.
import { parentPort, workerData } from 'node:worker_threads';
import { type Shared, verifyStretches } from './verify-stretches.ts';

parentPort?.postMessage(await verifyStretches(workerData as Shared));
