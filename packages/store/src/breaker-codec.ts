import { createCodec, durationSeconds, timestamp } from '@holdfast/records'
import { BREAKER_STATES, WINDOW_TYPES } from 'holdfast/internal'
import { z } from 'zod'
import type { StoredBreaker } from './store.js'

/** A time: ISO 8601 on the wire, epoch milliseconds in a snapshot. */
const epochTimestamp = () =>
  z.codec(z.iso.datetime({ offset: true }), z.number(), {
    decode: (text) => Date.parse(text),
    encode: (ms) => new Date(ms).toISOString(),
  })

/** A snapshot in the spelling of the wire. Fields that the core adds later are kept. */
const snapshotSchema = z.looseObject({
  id: z.string(),
  state: z.enum(BREAKER_STATES),
  failure_count: z.number(),
  window_type: z.enum(WINDOW_TYPES),
  failure_window: z.array(z.number()),
  success_count: z.number(),
  opened_in_a_row: z.number(),
  open_duration: durationSeconds(),
  trip_duration: durationSeconds().optional(),
  epoch: z.number(),
  next_test_time: epochTimestamp().optional(),
  last_failure_time: epochTimestamp().optional(),
  last_state_change: epochTimestamp().optional(),
  closed_at: epochTimestamp().optional(),
  created_at: timestamp(),
  updated_at: timestamp(),
})
const snapshotCodec = createCodec(snapshotSchema)

type FlatSnapshot = Parameters<typeof snapshotCodec.encode>[0]

export const encodeBreaker = ({ snapshot, createdAt, updatedAt }: StoredBreaker): unknown =>
  snapshotCodec.encode({ ...snapshot, createdAt, updatedAt } as unknown as FlatSnapshot)

export function decodeBreaker(wire: unknown): StoredBreaker | undefined {
  const decoded = snapshotCodec.safeDecode(wire)
  if (!decoded.success) return undefined
  const { createdAt, updatedAt, ...snapshot } = decoded.data
  return { snapshot: snapshot as unknown as StoredBreaker['snapshot'], createdAt, updatedAt }
}
