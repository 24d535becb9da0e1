/** The format of pino's log lines: the level's name, the time in ISO 8601 (UTC), no process and no host. */
export const LOG_LINES = {
  base: null,
  timestamp: () => `,"time":"${new Date().toISOString()}"`,
  formatters: { level: (label: string) => ({ level: label }) },
};
