// Test files that do not pass on another runtime, with the reason. They are left out there.

/** @type {Record<string, { file: string, reason: string }[]>} */
export const KNOWN_FAILURES = {}
