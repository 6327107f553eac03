import { describe, expect, it } from 'vitest'
import { generateScenario } from '../src/scenario/generate.js'
import { loadProblem } from '../src/scenario/required-load.js'
import { formatScenario, parseScenario } from '../src/scenario/scenario-file.js'

const call = {
  at: 1000,
  node: 0,
  action: 'run',
  operation: 'mail',
  attempts: [{ ms: 10, fails: false }],
  target: 0.9,
}
const scenario = {
  seed: 5,
  nodes: 3,
  diskNodes: [2],
  sqliteNodes: [],
  hasDiskFallback: false,
  poolShare: 'none',
  persists: true,
  faults: [],
  calls: [call],
}
const parse = (changes: object) => parseScenario(JSON.stringify({ ...scenario, ...changes }))

describe('a file with a scenario', () => {
  it('has everything that a scenario has', () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const generated = generateScenario(seed)
      expect(parseScenario(formatScenario(generated))).toEqual(generated)
    }
  })

  it('is rejected with the place of the mistake', () => {
    expect(() => parseScenario('{')).toThrow(/^the file: expected JSON/)
    expect(() => parseScenario('[]')).toThrow('the file: expected an object, got []')
    expect(() => parse({ seed: -1 })).toThrow('seed: expected a whole number that is not negative, got -1')
    expect(() => parse({ nodes: undefined })).toThrow(
      'nodes: expected a whole number of at least 1, got nothing',
    )
    expect(() => parse({ diskNodes: [3] })).toThrow('diskNodes.0: expected a node below 3, got 3')
    expect(() => parse({ calls: [{ ...call, action: 'jump' }] })).toThrow(
      /^calls\.0\.action: expected one of run, /,
    )
    expect(() => parse({ calls: [{ ...call, attempts: [] }] })).toThrow(
      'calls.0.attempts: expected at least one attempt, got []',
    )
    expect(() => parse({ faults: [{ at: 1, kind: 'flood' }] })).toThrow(
      /^faults\.0\.kind: expected one of crash, /,
    )
    expect(() => parse({ faults: [{ at: 1, kind: 'crash', node: 0 }] })).toThrow(
      'faults.0.downMs: expected a number that is not negative, got nothing',
    )
    expect(() => parse({ faults: [{ at: 1, kind: 'reset', node: 0, server: 'redis', ms: 1 }] })).toThrow(
      'faults.0.ms: expected a field of at, kind, node, server, got "ms"',
    )
  })
})

describe('the load of a seed', () => {
  it('is enough with 3 nodes, 2,000 executed calls and 50 faults that had an effect', () => {
    expect(loadProblem({ nodes: 3, calls: 2000, faults: 50 })).toBeUndefined()
  })

  it('is too small with fewer', () => {
    expect(loadProblem({ nodes: 2, calls: 1999, faults: 50 })).toBe(
      '2 nodes, expected at least 3; 1999 calls, expected at least 2000',
    )
    expect(loadProblem({ nodes: 3, calls: 2000, faults: 49 })).toBe('49 faults, expected at least 50')
  })
})
