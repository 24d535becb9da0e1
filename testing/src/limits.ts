/**
 * The limits of all tests, in milliseconds. A limit is there to end a test that hangs, and fails no test that is only slow: it is at
 * least twenty times what the longest takes on an idle machine. Nothing else sets one: `npm run check:tests` refuses that.
 */

/** Of a wait for an event: shorter than that of a test (vitest.config.ts), so that the wait fails and says what it waited for. */
export const WAIT_LIMIT_MS = 100_000;

/**
 * For a call that has to fail by its limit, because the other side never answers. No call that has to succeed gets one: on a busy
 * machine, the honest answer would be late.
 */
export const NO_ANSWER_MS = 1_000;
