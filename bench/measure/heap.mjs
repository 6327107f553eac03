import { createHook } from 'node:async_hooks'

const ROUNDS = 5
/** The number of parts in which the duration of the constructor is measured. */
const SLICES = 50

/**
 * Measures the memory, time and timers that one object costs which is created and not used.
 *
 * @param {(index: number) => object} make
 * @param {number} count
 * @returns {{ bytes: number[], construction: number[], constructor: number[], timers: number[] }} of one object: bytes of
 *   heap; nanoseconds to make it and keep it, with the garbage collector's work for what is kept, and without that work;
 *   timers that it started
 */
export function heap(make, count) {
  const bytes = []
  const construction = []
  for (let i = 0; i < 2000; i++) make(i)
  const kept = new Array(count).fill(undefined)
  for (let round = 0; round < ROUNDS; round++) {
    kept.fill(undefined)
    const before = heapUsed()
    const start = performance.now()
    for (let i = 0; i < count; i++) kept[i] = make(i)
    construction.push(((performance.now() - start) * 1e6) / count)
    bytes.push((heapUsed() - before) / count)
  }
  return { bytes, construction, constructor: slices(make, kept), timers: [timers(make)] }
}

function heapUsed() {
  const { gc } = globalThis
  if (gc === undefined) throw new Error('run with --expose-gc')
  gc()
  gc()
  return process.memoryUsage().heapUsed
}

/**
 * Measures the duration of the constructor in several parts. Most parts contain no garbage collection, so their median excludes
 * it.
 *
 * @param {(index: number) => object} make
 * @param {object[]} kept the array whose objects are replaced by new ones
 */
function slices(make, kept) {
  const slice = kept.length / SLICES
  return Array.from({ length: SLICES }, (_, index) => {
    const from = index * slice
    const start = performance.now()
    for (let i = from; i < from + slice; i++) kept[i] = make(i)
    return ((performance.now() - start) * 1e6) / slice
  })
}

/**
 * Timers that do not keep the process alive are not among its active resources, so those started are counted too.
 *
 * @param {(index: number) => object} make
 */
function timers(make) {
  const COUNT = 100
  let started = 0
  const hook = createHook({
    init(_id, type) {
      if (type === 'Timeout' || type === 'Immediate') started++
    },
  })
  const pending = () => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length
  const before = pending()
  hook.enable()
  const kept = Array.from({ length: COUNT }, (_, index) => make(index))
  hook.disable()
  return Math.max(started, pending() - before) / kept.length
}
