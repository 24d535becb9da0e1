/** Conditions of a WHERE clause, made of constant SQL, and the parameters they refer to. */
export class Conditions {
  readonly #parts: string[] = ['TRUE'];
  readonly #values: unknown[] = [];

  /** Adds a value and returns how SQL refers to it: `$1`. */
  parameter(value: unknown): string {
    return `$${this.#values.push(value)}`;
  }

  /** Adds a condition on a value, unless there is none. */
  add<Value>(value: Value | undefined, condition: (parameter: string) => string): this {
    if (value !== undefined) this.#parts.push(condition(this.parameter(value)));
    return this;
  }

  /** Adds a condition without a value. */
  require(condition: string): this {
    this.#parts.push(condition);
    return this;
  }

  /** All of them, joined by AND. */
  get sql(): string {
    return this.#parts.join(' AND ');
  }

  get values(): readonly unknown[] {
    return this.#values;
  }
}
