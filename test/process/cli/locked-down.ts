/** A case of a theft in a console, for the tests of its routes. */
import { expect, onTestFinished } from 'vitest';
import type { CaseRead } from '../../../src/console/case/cases.ts';
import type { ShownInvestigation } from '../../../src/console/case/shown-investigation.ts';
import type { OperationState } from '../../../src/console/operations.ts';
import { begin, confirmed, type TestConsole } from '../../support/console.ts';
import { theftConsole } from '../../support/theft.ts';
import { temporaryFolder } from './program.ts';

/**
 * A theft whose victim is locked down, in a console with both contexts of the controller.
 * @param settings Lines of the configuration beside its contexts, for the home.
 */
export async function lockedDown(settings: (home: string) => string = () => '') {
  const folder = temporaryFolder();
  const { opened, close } = await theftConsole(folder, { settings: settings(folder) });
  onTestFinished(close);
  const locked = await carryOut(opened, {
    ...{ kind: 'incident lockdown', place: 'east-db', user: ['bob'], reason: 'stolen', ticket: 'SEC-7' },
  });
  expect(locked.result).not.toBeNull();
  // What else goes with the stolen token is named before it goes.
  expect(locked.asked?.plan).toMatch(
    /Access tokens to revoke permanently:\n +token \d+ of bob: without a description, scope write\n/,
  );
  const { incident = '' } = (locked.result?.json ?? {}) as { readonly incident?: string };
  const read = async () =>
    (await opened.send(`/api/case?place=east-db&incident=${incident}`)).json() as CaseRead;
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const investigate = (token?: number) =>
    opened.send('/api/case/investigation', { place: 'east-db', incident, since, ...(token && { token }) });
  const found = async () => {
    const name = (await read()).investigations.at(-1)?.name;
    const url = `/api/case/investigation?place=east-db&incident=${incident}&name=${name}`;
    return (await opened.send(url)).json() as ShownInvestigation;
  };
  return { folder, opened, incident, read, investigate, found };
}

/** Begins a change, and confirms what it asks for, as often as it asks; gives how it ended. */
export async function carryOut(opened: TestConsole, change: object): Promise<OperationState> {
  return await confirmed(opened, await begin(opened, change));
}
