import { expect, it } from 'vitest';
import { RunSlots } from '../../../src/scheduler/run-slots.ts';

const never = new AbortController().signal;
const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));

/** Asks for a place for each run, in this order, and notes which begin. */
function runs(limits: { readonly atOnce: number; readonly perContext: number }) {
  const slots = new RunSlots(limits);
  const began: string[] = [];
  const places = new Map<string, Disposable>();
  return {
    began,
    async want(name: string, context: string | null, minute: number, signal = never): Promise<void> {
      void slots.take({ context, due: at(minute) }, signal).then((place) => {
        if (place === null) return;
        began.push(name);
        places.set(name, place);
      });
      await settled();
    },
    async end(name: string): Promise<void> {
      places.get(name)?.[Symbol.dispose]();
      await settled();
    },
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

it('lets as many runs begin as fit, in all and in one context', async () => {
  const { want, began } = runs({ atOnce: 3, perContext: 2 });
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2']) await want(name, name.slice(0, 1), 0);
  expect(began).toEqual(['a1', 'a2', 'b1']);
});

it('gives a free place to the most overdue run, whoever asked first', async () => {
  const { want, end, began } = runs({ atOnce: 1, perContext: 1 });
  await want('first', 'a', 9);
  await want('late', 'b', 5);
  await want('later', 'c', 2);
  await want('latest', 'd', 1);
  for (const name of ['first', 'latest', 'later']) await end(name);
  expect(began).toEqual(['first', 'latest', 'later', 'late']);
});

it('does not let a busy context keep others waiting', async () => {
  const { want, end, began } = runs({ atOnce: 2, perContext: 1 });
  await want('a1', 'a', 1);
  await want('a2', 'a', 1);
  await want('b1', 'b', 9);
  expect(began).toEqual(['a1', 'b1']);
  await end('a1');
  expect(began).toEqual(['a1', 'b1', 'a2']);
});

it('counts runs without a context among all', async () => {
  const { want, end, began } = runs({ atOnce: 2, perContext: 1 });
  for (const name of ['x', 'y', 'z']) await want(name, null, 1);
  expect(began).toEqual(['x', 'y']);
  await end('y');
  expect(began).toEqual(['x', 'y', 'z']);
});

it('forgets whoever stops waiting, and keeps no place for it', async () => {
  const { want, end, began } = runs({ atOnce: 1, perContext: 1 });
  const stop = new AbortController();
  await want('first', 'a', 1);
  await want('stopped', 'b', 2, stop.signal);
  await want('third', 'c', 3);
  stop.abort();
  await want('never', 'd', 1, stop.signal);
  await end('first');
  expect(began).toEqual(['first', 'third']);
});
