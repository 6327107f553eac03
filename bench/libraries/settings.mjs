// The same settings for all libraries, each in the options of that library.

/** The first attempt and two more. */
export const ATTEMPTS = 3
export const RETRIES = ATTEMPTS - 1

/** Milliseconds. */
export const ATTEMPT_TIMEOUT = 30_000
export const TOTAL_TIMEOUT = 120_000
export const WINDOW = 60_000
export const OPEN_FOR = 30_000
