/** Rounds milliseconds to microseconds, which is as precise as records are. */
export const roundToMicroseconds = (ms: number): number => Math.round(ms * 1000) / 1000
