import { addToSketch } from './latency-sketches.js'
import type { Sketch } from './sketch.js'

const INITIAL_CAPACITY = 256

/**
 * The most recent attempts: when each ended, how long it took, and how many attempts it represents. They give the latency
 * of short windows, for which the hourly sketches are too coarse.
 */
export class AttemptRing {
  private times: Float64Array
  private durations: Float32Array
  private weights: Uint8Array
  private next = 0
  private size = 0
  /** The ring contains every attempt after this time. */
  private completeSince = Number.NEGATIVE_INFINITY
  private capacity: number

  constructor(capacity: number) {
    const newCapacity = Math.min(capacity, INITIAL_CAPACITY)
    this.capacity = capacity
    this.times = new Float64Array(newCapacity)
    this.durations = new Float32Array(newCapacity)
    this.weights = new Uint8Array(newCapacity)
  }

  /** Changes the capacity and keeps the newest attempts. */
  resize(capacity: number): void {
    if (capacity === this.capacity) return
    this.capacity = capacity
    this.reallocate(Math.min(capacity, Math.max(this.size, INITIAL_CAPACITY)))
  }

  add(time: number, duration: number, weight: number): void {
    if (this.capacity === 0) {
      this.markIncomplete(time)
      return
    }
    const newCapacity = this.times.length
    if (this.size === newCapacity && newCapacity < this.capacity)
      this.reallocate(Math.min(this.capacity, newCapacity * 2))
    if (this.size === this.times.length) this.markIncomplete(this.times[this.next] as number)
    else this.size++
    this.times[this.next] = time
    this.durations[this.next] = duration
    this.weights[this.next] = weight
    this.next = (this.next + 1) % this.times.length
  }

  /** Records that attempts before this time are missing. */
  markIncomplete(until: number): void {
    this.completeSince = Math.max(this.completeSince, until)
  }

  /** Whether the ring contains every attempt of this process that ended at or after a time. */
  isCompleteSince(from: number): boolean {
    return from > this.completeSince
  }

  /** Adds the attempts that ended in [from, to) to a sketch. */
  merge(from: number, to: number, into: Sketch): void {
    for (let i = 0; i < this.size; i++) {
      const time = this.times[i] as number
      if (time >= from && time < to) addToSketch(into, this.durations[i] as number, this.weights[i] as number)
    }
  }

  private reallocate(newCapacity: number): void {
    const size = Math.min(this.size, newCapacity)
    const first = this.size - size
    const { times, durations, weights, next } = this
    const place = (i: number) => (next - this.size + i + times.length) % times.length
    for (let i = 0; i < first; i++) this.markIncomplete(times[place(i)] as number)
    this.times = new Float64Array(newCapacity)
    this.durations = new Float32Array(newCapacity)
    this.weights = new Uint8Array(newCapacity)
    for (let i = 0; i < size; i++) {
      this.times[i] = times[place(first + i)] as number
      this.durations[i] = durations[place(first + i)] as number
      this.weights[i] = weights[place(first + i)] as number
    }
    this.size = size
    this.next = newCapacity === 0 ? 0 : size % newCapacity
  }
}
