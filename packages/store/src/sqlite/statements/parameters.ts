/** The value of a parameter or column. Drivers must not get other types: one of them ends the process on a boolean. */
export type SqliteValue = string | number | null | Uint8Array

/** Placeholders for a number of parameters. */
export const placeholders = (count: number): string => Array(count).fill('?').join(', ')
