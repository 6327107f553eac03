import { describe, expect, it } from 'vitest'
import { CircuitBreaker } from '../../src/index.js'
import { admitted, fail, held, made, succeed } from './setup.js'

class Later {
  // oxlint-disable-next-line unicorn/no-thenable -- a thenable is what is meant
  then(done: (value: string) => void): void {
    done('later')
  }
}

describe('a closed breaker', () => {
  it('is the initial state', () => {
    const { breaker } = made()
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(0)
    expect(breaker.nextTestTime).toBeUndefined()
    expect(breaker.disabled).toBe(false)
  })

  it('uses the system clock and has no id without options', () => {
    const breaker = new CircuitBreaker()
    expect(breaker.id).toBe('')
    fail(breaker, 5)
    expect(breaker.state).toBe('open')
  })

  it('admits any number of parallel calls', () => {
    const { breaker } = made()
    const permits = Array.from({ length: 1000 }, () => breaker.admit())
    expect(permits).not.toContain(undefined)
  })

  it('stays closed one failure short of its threshold', () => {
    const { breaker } = made({ failureThreshold: 5 })
    fail(breaker, 4)
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(4)
  })

  it('opens with the failure that reaches its threshold', () => {
    const { breaker } = made({ failureThreshold: 5 })
    fail(breaker, 5)
    expect(breaker.state).toBe('open')
    expect(breaker.failureCount).toBe(5)
  })

  it('opens with the first failure where the threshold is 1', () => {
    const { breaker } = made({ failureThreshold: 1 })
    fail(breaker)
    expect(breaker.state).toBe('open')
    expect(breaker.failureCount).toBe(1)
  })

  it('counts calls that are admitted together and fail one after the other', () => {
    const { breaker } = made({ failureThreshold: 2 })
    const permits = [admitted(breaker), admitted(breaker)]
    permits[0]?.failure()
    expect(breaker.state).toBe('closed')
    permits[1]?.failure()
    expect(breaker.state).toBe('open')
  })

  it('opens when it is tripped, with the failures it had', () => {
    const { breaker } = made()
    fail(breaker, 2)
    breaker.trip()
    expect(breaker.state).toBe('open')
    expect(breaker.failureCount).toBe(2)
  })

  it('clears its failures when it is reset, and stays closed', () => {
    const { breaker } = made({ failureThreshold: 3 })
    fail(breaker, 2)
    breaker.reset()
    expect(breaker.failureCount).toBe(0)
    fail(breaker, 2)
    expect(breaker.state).toBe('closed')
  })

  it('is not changed by successes', () => {
    const { breaker } = made()
    succeed(breaker, 100)
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(0)
  })

  describe('running a function', () => {
    it("returns the function's result", async () => {
      const { breaker } = made()
      await expect(breaker.run(async () => 'sent')).resolves.toBe('sent')
      await expect(breaker.run(() => 'plain')).resolves.toBe('plain')
      await expect(breaker.run(() => new Later() as PromiseLike<string>)).resolves.toBe('later')
    })

    it("rejects with the function's unchanged error, and counts it", async () => {
      const { breaker } = made()
      const down = new Error('down')
      await expect(breaker.run(() => Promise.reject(down))).rejects.toBe(down)
      expect(breaker.failureCount).toBe(1)
    })

    it('counts a function that throws before it returns a promise', async () => {
      const { breaker } = made()
      const down = new Error('down')
      const throws = () => {
        throw down
      }
      await expect(breaker.run(throws)).rejects.toBe(down)
      expect(breaker.failureCount).toBe(1)
    })

    it('counts a success when the function has ended, not when it starts', async () => {
      const { breaker } = made({ windowType: 'consecutive', failureThreshold: 3 })
      const { promise, resolve } = held<string>()
      const running = breaker.run(() => promise)
      fail(breaker, 2)
      resolve('done')
      await running
      expect(breaker.failureCount).toBe(0)
    })
  })
})
