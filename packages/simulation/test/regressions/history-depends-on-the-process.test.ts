import { afterEach, expect, it, vi } from 'vitest'
import { generateScenario } from '../../src/scenario/generate.js'
import { simulate } from '../../src/simulate.js'

afterEach(() => vi.unstubAllGlobals())

/** Simulates a seed in a process with another id. */
async function simulateAs(pid: number, seed: number) {
  vi.stubGlobal(
    'process',
    new Proxy(process, { get: (target, key) => (key === 'pid' ? pid : target[key as never]) }),
  )
  const { digest } = await simulate(generateScenario(seed))
  vi.unstubAllGlobals()
  return digest
}

// The process id is part of the names of lease holders, and the size of a stored entry decides which sectors a power failure keeps.
it('has the same history in a process with an id of another length', { timeout: 300_000 }, async () => {
  expect(await simulateAs(7, 8)).toBe(await simulateAs(32_000, 8))
})

// Temporary files had random names, which messages about errors of the disk contain.
it('has the same history when temporary files have other names', { timeout: 300_000 }, async () => {
  const first = await simulate(generateScenario(14))
  const second = await simulate(generateScenario(14))
  expect(second.digest).toBe(first.digest)
})
