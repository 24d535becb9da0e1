import type { RightsPurpose } from '../../../operations/ports/target.ts';

/** A right on a table that the queries need; without columns it is one on the whole table. */
export interface Need {
  readonly table: string;
  readonly privilege: 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';
  readonly columns?: readonly string[];
}

/** What each purpose needs; all but `read` besides what `read` needs. */
export type Needs = Readonly<Record<RightsPurpose, readonly Need[]>>;

/** The right to read some columns. */
export function read(table: string, ...columns: string[]): Need {
  return { table, privilege: 'SELECT', columns };
}

/** The right to add rows with some columns. */
export function insert(table: string, ...columns: string[]): Need {
  return { table, privilege: 'INSERT', columns };
}

/** The right to change some columns. */
export function update(table: string, ...columns: string[]): Need {
  return { table, privilege: 'UPDATE', columns };
}

/** The right to delete rows. */
export function remove(table: string): Need {
  return { table, privilege: 'DELETE' };
}
