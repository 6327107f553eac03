import { systemClock } from 'holdfast/internal'

// Globals of the browser under explicit names, because a bare `name` or `status` would refer to a global by accident.
export const { document: page, history: past, location: place, matchMedia } = globalThis

/** Storage that lasts on this machine. */
export const localStore = globalThis.localStorage

/** The source of time. */
export const clock = systemClock
