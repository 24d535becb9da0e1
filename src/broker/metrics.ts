import { Counter, Histogram, Registry } from 'prom-client';

/** The Prometheus metrics of one broker process. Labels have few values: fixed words. */
export class BrokerMetrics {
  readonly #registry = new Registry();
  readonly #registers = [this.#registry];
  readonly #exchanges = new Counter({
    name: 'tokenctl_broker_exchanges_total',
    help: 'Requests for a token, by result: done, or why it was refused.',
    labelNames: ['result'],
    registers: this.#registers,
  });
  readonly #revocations = new Counter({
    name: 'tokenctl_broker_revocations_total',
    help: 'Requests to revoke a token, by result.',
    labelNames: ['result'],
    registers: this.#registers,
  });
  readonly #durations = new Histogram({
    name: 'tokenctl_broker_exchange_duration_seconds',
    help: 'How long exchanges that gave a token took, in seconds.',
    buckets: [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 5, 30],
    registers: this.#registers,
  });

  /** Begins an exchange; what it returns counts its result. */
  exchange(): (result: string) => void {
    const end = this.#durations.startTimer();
    return (result) => {
      this.#exchanges.inc({ result });
      if (result === 'done') end();
    };
  }

  /** The same for a revocation. */
  revocation(): (result: string) => void {
    return (result) => this.#revocations.inc({ result });
  }

  async text(): Promise<{ readonly type: string; readonly body: string }> {
    return { type: this.#registry.contentType, body: await this.#registry.metrics() };
  }
}
