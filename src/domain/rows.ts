/**
 * Rows that arrive a page at a time, to be read once. Of a million rows a promise for each would be most of the work, so
 * what reads all of a target takes pages, and works on each with a plain loop; `for await` gives one row after the other.
 * A page is garbage as soon as it was worked on: what waits for the next one must not hold the last.
 */
export class Rows<Row> implements AsyncIterable<Row> {
  /** The next page; null after the last. */
  readonly next: () => Promise<readonly Row[] | null>;

  constructor(next: () => Promise<readonly Row[] | null>) {
    this.next = next;
  }

  /** The rows of a generator of pages. */
  static from<Row>(pages: AsyncIterable<readonly Row[]>): Rows<Row> {
    const iterator = pages[Symbol.asyncIterator]();
    return new Rows(async () => {
      const { done, value } = await iterator.next();
      return done === true ? null : value;
    });
  }

  /** Rows that come one by one, if they do not come in pages. */
  static of<Row>(rows: AsyncIterable<Row>): Rows<Row> {
    if (rows instanceof Rows) return rows;
    const iterator = rows[Symbol.asyncIterator]();
    return new Rows(async () => {
      const { done, value } = await iterator.next();
      return done === true ? null : [value];
    });
  }

  /** Rows that are made when they are asked for. */
  static once<Row>(make: () => readonly Row[] | Promise<readonly Row[]>): Rows<Row> {
    let isMade = false;
    return new Rows(async () => {
      if (isMade) return null;
      isMade = true;
      return await make();
    });
  }

  /** The rows of several, one after the other. None is asked for before those ahead of it have ended. */
  static inTurn<Row>(all: Iterable<Rows<Row>>): Rows<Row> {
    const pending = all[Symbol.iterator]();
    let current = pending.next();
    return new Rows(async () => {
      while (current.done !== true) {
        const page = await current.value.next();
        if (page !== null) return page;
        current = pending.next();
      }
      return null;
    });
  }

  /** Other rows, made of each page in its turn. */
  map<Other>(change: (page: readonly Row[]) => readonly Other[]): Rows<Other> {
    return new Rows(async () => {
      const page = await this.next();
      return page === null ? null : change(page);
    });
  }

  /** Reads all pages. */
  async each(act: (page: readonly Row[]) => void = () => undefined): Promise<void> {
    const one = async () => {
      const page = await this.next();
      if (page !== null) act(page);
      return page !== null;
    };
    while (await one());
  }

  /** For generators that make something of each page. */
  async *pages(): AsyncGenerator<readonly Row[], void> {
    for (let page = await this.next(); page !== null; page = await this.next()) yield page;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void> {
    // Not `yield*`, which takes several turns of the event loop for each row.
    for await (const page of this.pages()) for (const row of page) yield row;
  }
}
