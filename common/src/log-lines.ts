/** How pino writes the lines of our logs: the level by its name, the time in ISO 8601 (UTC), and neither process nor host. */
export const LOG_LINES = {
  base: null,
  timestamp: () => `,"time":"${new Date().toISOString()}"`,
  formatters: { level: (label: string) => ({ level: label }) },
};
