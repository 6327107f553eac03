// A guarded call as it happens: a row for each attempt, its time as a bar and the wait after it as dots.
import { animate, ink, live, print } from './screen.mjs'

const WIDTH = 34

/** @typedef {{ from: number, to?: number, delay: number, note: string }} Row times in milliseconds since the start */

/**
 * @param {import('holdfast').Guard} guard
 * @param {number} span how many milliseconds the whole of it takes, more or less
 * @param {(attempt: import('holdfast').Attempt) => Promise<unknown>} fn
 * @returns {Promise<number>} how many attempts it took
 */
export async function show(guard, span, fn) {
  const start = performance.now()
  // To the nearest 20 ms, so that the picture does not depend on the machine's mood.
  const elapsed = () => Math.round((performance.now() - start) / 20) * 20
  const column = (/** @type {number} */ ms) => Math.round((ms / span) * WIDTH)
  /** @type {Row[]} */
  const rows = []

  const draw = (/** @type {Row} */ { from, to = elapsed(), delay, note }, /** @type {number} */ index) => {
    const [begin, end] = [column(from), Math.max(column(from) + 1, column(to))]
    const wait = Math.max(0, column(Math.min(to + delay, elapsed())) - end)
    const colour = note === '' ? ink.cyan : note.startsWith('✓') ? ink.green : ink.red
    const bar =
      colour('█'.repeat(end - begin)) + ink.dim('·'.repeat(wait)) + ' '.repeat(WIDTH + 2 - end - wait)
    return `     attempt ${index + 1}  ${' '.repeat(begin)}${bar}${colour(note.slice(0, 1))}${note.slice(1)}`
  }
  const plain = () => live || print(...rows.map(draw).slice(-1))
  const off = guard.on((event) => {
    const row = rows.at(-1)
    if (row === undefined) return
    if (event.type === 'retry_scheduled') {
      row.delay = event.delay
      row.note += `, wait ${Math.round(event.delay)} ms`
    } else if (event.type === 'attempt_failed' || event.type === 'succeeded') {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ ('error' in event ? event.error : {})
      row.to = elapsed()
      row.note = event.type === 'succeeded' ? '✓ answered' : `✗ ${code ?? message}`
    }
    if (event.type === 'succeeded' || event.type === 'gave_up') plain()
  })
  const call = guard.run((attempt) => {
    if (rows.length > 0) plain()
    rows.push({ from: elapsed(), delay: 0, note: '' })
    return fn(attempt)
  })
  await animate(() => (live ? rows.map(draw) : []), call)
  off()
  return rows.length
}
