import { systemClock } from 'holdfast/internal'

// The browser's own things under names of ours: a bare `name` or `status` would be one of its globals by accident.
export const { document: page, history: past, location: place, matchMedia } = globalThis

/** Kept while the tab is open, and not longer. */
export const tabStorage = globalThis.sessionStorage

/** Kept on this machine. */
export const localStore = globalThis.localStorage

/** Where time comes from. */
export const clock = systemClock
