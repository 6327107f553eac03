// `require` and `import` load two copies, and errors of one were not instances of the classes of the other.
import { beforeAll, describe, expect, it, vi } from 'vitest'

type Cockatiel = typeof import('../../src/cockatiel/index.js')
type PRetry = typeof import('../../src/p-retry/index.js')
type Opossum = typeof import('../../src/opossum/index.js')

let cockatiel: [Cockatiel, Cockatiel]
let pRetry: [PRetry, PRetry]
let opossum: [Opossum, Opossum]

beforeAll(async () => {
  const load = async () => {
    vi.resetModules()
    return {
      cockatiel: await import('../../src/cockatiel/index.js'),
      pRetry: await import('../../src/p-retry/index.js'),
      opossum: await import('../../src/opossum/index.js'),
    }
  }
  const first = await load()
  const second = await load()
  cockatiel = [first.cockatiel, second.cockatiel]
  pRetry = [first.pRetry, second.pRetry]
  opossum = [first.opossum, second.opossum]
})

describe('an AbortError of p-retry from another copy', () => {
  it('ends the retries', async () => {
    const [mine, other] = pRetry
    expect(mine.AbortError).not.toBe(other.AbortError)
    const fail = vi.fn(() => Promise.reject(new other.AbortError('stop')))
    await expect(mine.default(fail, { retries: 2, minTimeout: 1 })).rejects.toThrow('stop')
    expect(fail).toHaveBeenCalledTimes(1)
  })
})

describe('errors of cockatiel from another copy', () => {
  const create = ({ ...library }: Cockatiel) => ({
    BrokenCircuitError: new library.BrokenCircuitError(),
    IsolatedCircuitError: new library.IsolatedCircuitError(),
    HydratingCircuitError: new library.HydratingCircuitError(),
    BulkheadRejectedError: new library.BulkheadRejectedError(1, 1),
    TaskCancelledError: new library.TaskCancelledError(),
  })
  type Name = keyof ReturnType<typeof create>

  it('are instances of the same classes as errors of this copy', () => {
    const [mine, other] = cockatiel
    const names = Object.keys(create(mine)) as Name[]
    const classesOf = (error: Error) => names.filter((name) => error instanceof mine[name])
    for (const errors of [create(mine), create(other)]) {
      for (const name of names) {
        const expected =
          name === 'IsolatedCircuitError' ? ['BrokenCircuitError', 'IsolatedCircuitError'] : [name]
        expect([name, classesOf(errors[name])]).toEqual([name, expected])
      }
    }
    expect(classesOf(new Error('another'))).toEqual([])
  })

  it('are handled by handleType, but not by a subclass of it', async () => {
    const [mine, other] = cockatiel
    class Own extends mine.BrokenCircuitError {}
    const attempts = async (type: typeof mine.BrokenCircuitError) => {
      const fail = vi.fn(() => Promise.reject(new other.BrokenCircuitError()))
      const policy = mine.retry(mine.handleType(type), {
        maxAttempts: 1,
        backoff: new mine.ConstantBackoff(0),
      })
      await policy.execute(fail).catch(() => {})
      return fail.mock.calls.length
    }
    expect(await attempts(mine.BrokenCircuitError)).toBe(2)
    expect(await attempts(Own)).toBe(1)
    expect(new Own()).toBeInstanceOf(mine.BrokenCircuitError)
  })
})

describe('a circuit of opossum from another copy', () => {
  it('serves as the fallback, and its status as the option', async () => {
    const [{ default: Mine }, { default: Other }] = opossum
    const circuit = new Mine(() => Promise.reject(new Error('down')), {
      status: Other.newStatus({ stats: {} as never }) as never,
    })
    circuit.fallback(new Other(async () => 'served'))
    expect(await circuit.fire()).toBe('served')
    expect(circuit.status.stats.failures).toBe(1)
    expect(new Other(async () => 1)).toBeInstanceOf(Mine)
    circuit.shutdown()
  })
})
