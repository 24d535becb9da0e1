import type { RightsPurpose } from '../../../operations/ports/target.ts';
import type { Layout } from '../layout.ts';
import { CONTROLLER_NEEDS, SERVICE_NEEDS } from './controller.ts';
import { GATEWAY_NEEDS } from './gateway.ts';
import type { Need, Needs } from './need.ts';

const NEEDS: Readonly<Record<Layout, Needs>> = {
  controller: CONTROLLER_NEEDS,
  service: SERVICE_NEEDS,
  gateway: GATEWAY_NEEDS,
};

/** Every purpose, in the order in which they are told. */
export const PURPOSES = Object.keys(CONTROLLER_NEEDS) as readonly RightsPurpose[];

/** What a purpose needs in a layout. */
export function needsOf(purpose: RightsPurpose, layout: Layout): readonly Need[] {
  return NEEDS[layout][purpose];
}

/** The tables that the queries use in a layout, each with the columns they name. */
export function tablesOf(layout: Layout): ReadonlyMap<string, readonly string[]> {
  const tables = new Map<string, readonly string[]>();
  for (const { table, columns = [] } of Object.values(NEEDS[layout]).flat()) {
    tables.set(table, [...new Set([...(tables.get(table) ?? []), ...columns])]);
  }
  return tables;
}
