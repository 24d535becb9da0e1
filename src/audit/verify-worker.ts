// A worker thread: checks the stretch of a log that it is given.
import { parentPort, workerData } from 'node:worker_threads';
import { type Range, verifyRange } from './verify-range.ts';

parentPort?.postMessage(await verifyRange(workerData as Range));
