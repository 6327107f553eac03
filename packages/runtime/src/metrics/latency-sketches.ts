import { HOUR_MS } from '@holdfast/records'
import { createSketch, type Sketch } from './sketch.js'
import type { ClockReading } from './time-series.js'

/** Durations are clamped to these limits, which bounds the size of a sketch. */
const MIN_DURATION_MS = 1e-4
const MAX_DURATION_MS = 1e9

interface HourSketch {
  readonly sketch: Sketch
  isDirty: boolean
  changedAt: number
}

/** Adds a duration that represents `weight` durations. */
export function addToSketch(sketch: Sketch, duration: number, weight: number): void {
  sketch.accept(duration < MIN_DURATION_MS ? 0 : Math.min(duration, MAX_DURATION_MS), weight)
}

/** The quantiles of a sketch; zeros for an empty one. */
export function quantiles(sketch: Sketch): { p50: number; p95: number; p99: number } {
  const at = (quantile: number) => {
    const value = sketch.count > 0 ? sketch.getValueAtQuantile(quantile) : 0
    return Math.round(value * 1000) / 1000
  }
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

/** The durations of attempts, in one sketch per hour. Sketches can be merged. */
export class LatencySketches {
  readonly blockLength = HOUR_MS
  private readonly hours = new Map<number, HourSketch>()
  private readonly clockReading: ClockReading

  constructor(reading: ClockReading) {
    this.clockReading = reading
  }

  add(time: number, duration: number, weight: number): void {
    const hour = this.hour(Math.floor(time / HOUR_MS) * HOUR_MS)
    addToSketch(hour.sketch, duration, weight)
    hour.isDirty = true
    hour.changedAt = this.clockReading.now
  }

  /** Adds every hour that overlaps [from, to) to a sketch. */
  merge(from: number, to: number, into: Sketch): void {
    for (const [start, { sketch }] of this.hours) if (start + HOUR_MS > from && start < to) into.merge(sketch)
  }

  /** Deletes hours that have not changed since a monotonic time. */
  expire(before: number): void {
    for (const [start, { changedAt }] of this.hours) if (changedAt < before) this.hours.delete(start)
  }

  /**
   * The hours that changed since the last call, as plain data: pairs of key and weight, and the number of zero durations.
   */
  takeChanged(): { start: number; data: unknown }[] {
    const rows: { start: number; data: unknown }[] = []
    for (const [start, hour] of this.hours) {
      if (!hour.isDirty) continue
      hour.isDirty = false
      const { store, zeroCount } = hour.sketch
      const bins: [number, number][] = []
      for (let i = 0; i < store.bins.length; i++) {
        const weight = store.bins[i] as number
        if (weight > 0) bins.push([i + store.offset, weight])
      }
      rows.push({ start, data: { bins, zeros: zeroCount } })
    }
    return rows
  }

  markUnsaved(start: number): void {
    const hour = this.hours.get(start)
    if (hour !== undefined) hour.isDirty = true
  }

  /** Adds a stored hour that changed `age` milliseconds ago. Data in another form is ignored. */
  mergeStored(start: number, data: unknown, age: number): void {
    const { bins, zeros } = (data ?? {}) as { bins?: unknown; zeros?: unknown }
    if (!Array.isArray(bins) || start % HOUR_MS !== 0) return
    const hour = this.hour(start)
    const { sketch } = hour
    for (const bin of bins) {
      const [key, weight] = (Array.isArray(bin) ? bin : []) as unknown[]
      if (typeof key !== 'number' || typeof weight !== 'number' || !(weight > 0)) continue
      const value = sketch.mapping.value(key)
      if (value >= MIN_DURATION_MS / 2 && value <= MAX_DURATION_MS * 2) sketch.accept(value, weight)
    }
    if (typeof zeros === 'number' && zeros > 0) sketch.accept(0, zeros)
    hour.changedAt = Math.max(hour.changedAt, this.clockReading.now - age)
  }

  private hour(start: number): HourSketch {
    let hour = this.hours.get(start)
    if (hour === undefined) {
      hour = { sketch: createSketch(), isDirty: false, changedAt: Number.NEGATIVE_INFINITY }
      this.hours.set(start, hour)
    }
    return hour
  }
}
