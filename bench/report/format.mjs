/** @type {Record<import('../cases/index.mjs').Unit, (value: number) => string>} */
export const format = {
  times: (value) => `${digits(value)}×`,
  nanoseconds: (value) =>
    value < 1000
      ? `${digits(value)} ns`
      : value < 1e6
        ? `${digits(value / 1000)} µs`
        : `${digits(value / 1e6)} ms`,
  milliseconds: (value) => `${value.toFixed(1)} ms`,
  bytes: (value) => (value < 1000 ? `${Math.round(value)} B` : `${(value / 1000).toFixed(1)} kB`),
  percent: (value) => `${value.toFixed(1)} %`,
  count: (value) => String(value),
}

/** Formats a number with two decimals below 10, one below 100 and none above. @param {number} value */
function digits(value) {
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)
}
