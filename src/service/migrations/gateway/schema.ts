/**
 * Where a controller's names are kept in a database of the gateway's dialect: in a schema of their own, so that
 * nobody takes the database for a controller's.
 */
export const NAMES = 'controller_names';
