import { effect, signal } from '@preact/signals'
import { localStore } from './browser.js'
import type { Zone } from './format.js'

const ZONE_STORAGE_KEY = 'holdfast.zone'

/** The time zone in which times are shown. The browser keeps the choice. */
export const zone = signal<Zone>(localStore.getItem(ZONE_STORAGE_KEY) === 'utc' ? 'utc' : 'local')

effect(() => localStore.setItem(ZONE_STORAGE_KEY, zone.value))
