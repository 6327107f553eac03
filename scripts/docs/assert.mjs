// What the assertions written into an example call when it runs.
import { expect } from 'vitest'

/**
 * @template T
 * @param {T} actual
 * @param {unknown} expected
 * @param {string} where
 */
export function equal(actual, expected, where) {
  expect(actual, where).toEqual(expected)
  return actual
}

/** @param {() => Promise<unknown>} fn @param {string} code @param {string} where */
export async function throws(fn, code, where) {
  const thrown = await fn().then(
    () => ({ nothing: true }),
    (/** @type {any} */ error) => (error?.code === code ? code : error?.name === code ? code : error),
  )
  expect(thrown, `${where}: throws ${code}`).toBe(code)
}
