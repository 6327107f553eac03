import { size } from '../measure/size.mjs'

/**
 * @param {string} label
 * @param {string} source a module with what a program imports
 * @param {number} [bound] in bytes
 * @returns {import('./index.mjs').Subject}
 */
const subject = (label, source, bound) => ({
  label,
  ...(bound !== undefined && { bounds: { size: bound } }),
  measure: async () => ({ samples: { size: [await size(source)] } }),
})

/** @type {import('./index.mjs').Case} */
export const sizes = {
  name: 'sizes',
  title: 'The size of an import',
  note:
    'What an import adds to a bundle: bundled with esbuild, minified and gzipped. The policies of cockatiel and ' +
    'Effect are those of these benchmarks: retry, breaker and timeouts.',
  metrics: [{ key: 'size', title: 'size', unit: 'bytes' }],
  rounds: 1,
  subjects: [
    subject('holdfast, guard', `export { guard } from 'holdfast'`, 14_000),
    subject('holdfast, CircuitBreaker', `export { CircuitBreaker } from 'holdfast'`, 6000),
    subject('holdfast/retry, retry', `export { retry } from 'holdfast/retry'`, 4000),
    subject('holdfast, classify', `export { classify } from 'holdfast'`),
    subject('holdfast, isHoldfastError', `export { isHoldfastError } from 'holdfast'`, 500),
    subject(
      'holdfast, isHoldfastError and sessionOf',
      `export { isHoldfastError, sessionOf } from 'holdfast'`,
      500,
    ),
    subject('cockatiel, policies', `export { withTimeouts } from '../libraries/cockatiel.mjs'`),
    subject('opossum', `export { default } from 'opossum'`),
    subject('p-retry', `export { default } from 'p-retry'`),
    subject('Effect, policies', `export { withTimeouts } from '../libraries/effect.mjs'`),
  ],
}
