/**
 * @typedef {{ median: number, low: number, high: number, count: number }} Quartiles `low` to `high` is the middle half
 *
 * @param {number[]} samples
 * @returns {Quartiles}
 */
export function quartiles(samples) {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (/** @type {number} */ share) => {
    const place = share * (sorted.length - 1)
    const below = sorted[Math.floor(place)] ?? Number.NaN
    const above = sorted[Math.ceil(place)] ?? Number.NaN
    return below + (above - below) * (place - Math.floor(place))
  }
  return { median: at(0.5), low: at(0.25), high: at(0.75), count: sorted.length }
}
