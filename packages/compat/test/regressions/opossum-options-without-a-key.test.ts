// `options` of a circuit had no key `rotateBucketController` where the option is absent.
import Opossum from 'opossum'
import { expect, it } from 'vitest'
import CircuitBreaker from '../../src/opossum/index.js'

it('a circuit has the keys of the options of opossum', () => {
  const circuits = [Opossum, CircuitBreaker].map((Circuit) => new Circuit(async () => 1))
  // The types of opossum do not declare `options`.
  const [expected, got] = circuits.map((circuit) =>
    Object.keys((circuit as { options?: object }).options ?? {}).sort(),
  )
  expect(got).toEqual(expected)
  for (const circuit of circuits) circuit.shutdown()
})
