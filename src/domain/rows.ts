/**
 * Rows that arrive page by page, to be read once. For a million rows, a promise for each would dominate the
 * cost, so code that reads a whole target takes pages, and processes each with a plain loop; `for await`
 * yields single rows. A processed page is garbage: code that waits for the next page must not keep the last
 * one.
 */
export class Rows<Row> implements AsyncIterable<Row> {
  /** The next page; null after the last. */
  readonly next: () => Promise<readonly Row[] | null>;

  constructor(next: () => Promise<readonly Row[] | null>) {
    this.next = next;
  }

  static from<Row>(pages: AsyncIterable<readonly Row[]>): Rows<Row> {
    const iterator = pages[Symbol.asyncIterator]();
    return new Rows(async () => {
      const { done, value } = await iterator.next();
      return done === true ? null : value;
    });
  }

  /** Rows that come one by one, instead of in pages. */
  static of<Row>(rows: AsyncIterable<Row>): Rows<Row> {
    if (rows instanceof Rows) return rows;
    const iterator = rows[Symbol.asyncIterator]();
    return new Rows(async () => {
      const { done, value } = await iterator.next();
      return done === true ? null : [value];
    });
  }

  /** Rows that are created lazily. */
  static once<Row>(make: () => readonly Row[] | Promise<readonly Row[]>): Rows<Row> {
    let isMade = false;
    return new Rows(async () => {
      if (isMade) return null;
      isMade = true;
      return await make();
    });
  }

  /** The rows of several sources, one after the other. None is read before the previous ones have ended. */
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

  /** Maps each page lazily. */
  map<Other>(change: (page: readonly Row[]) => readonly Other[]): Rows<Other> {
    return new Rows(async () => {
      const page = await this.next();
      return page === null ? null : change(page);
    });
  }

  async each(act: (page: readonly Row[]) => void = () => undefined): Promise<void> {
    const one = async () => {
      const page = await this.next();
      if (page !== null) act(page);
      return page !== null;
    };
    while (await one());
  }

  /** For generators that process each page. */
  async *pages(): AsyncGenerator<readonly Row[], void> {
    for (let page = await this.next(); page !== null; page = await this.next()) yield page;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void> {
    // Not `yield*`, which takes several turns of the event loop for each row.
    for await (const page of this.pages()) for (const row of page) yield row;
  }
}
