import { join } from 'node:path'
import { CircuitBreaker } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { expect, it } from 'vitest'
import { BreakerPersistence } from '../../src/breakers/persistence.js'
import { folder, start } from './setup.js'

const config = { circuitBreakers: { n: { timeoutDuration: 60_000, persistState: true } } }

/** A runtime whose store rejects saves of breakers until it is repaired. */
async function startFailing() {
  const store = `sqlite:${join(await folder(), 'h.db')}`
  const clock = fakeClock({ wall: Date.UTC(2026, 0, 1) })
  const { hf } = await start(config, { store, clock })
  const { breakers } = hf.store
  const save = breakers.save.bind(breakers)
  let failures = 0
  breakers.save = () => {
    failures++
    return Promise.reject(new Error('the store is not available'))
  }
  await hf.breakers.trip('service:n', { by: 'me' })
  await clock.advance(1000)
  expect(failures).toBe(1)
  const repair = () => {
    breakers.save = save
  }
  return { hf, clock, store, repair, countFailures: () => failures }
}

// A failed save was repeated only after the next change of a breaker: a process that crashed meanwhile restored an outdated state.
it('repeats a failed save of a breaker every few seconds without another change', async () => {
  const { hf, clock, repair, countFailures } = await startFailing()
  await clock.advance(10_000)
  expect(countFailures()).toBe(3)
  repair()
  await clock.advance(5000)
  const saved = await hf.store.breakers.load()
  expect(saved.map(({ snapshot }) => [snapshot.id, snapshot.state])).toContainEqual(['service:n', 'open'])
  await hf.close()
})

it('saves a breaker on close if the store failed when it opened', async () => {
  const { hf, clock, store, repair } = await startFailing()
  repair()
  await hf.close()
  const restarted = await start(config, { store, clock })
  expect(await restarted.hf.breakers.get('service:n')).toMatchObject({ state: 'open' })
})

// The timer of the repetition kept a process alive for as long as its store was not available.
it('does not keep a process alive to repeat a failed save', async () => {
  const clock = fakeClock()
  const refTimers = new Set<object>()
  const persistence = new BreakerPersistence({
    clock: {
      ...clock,
      setTimer: (fn, ms) => {
        const timer = { unref: () => refTimers.delete(timer) }
        refTimers.add(timer)
        clock.setTimer(() => {
          refTimers.delete(timer)
          fn()
        }, ms)
        return timer
      },
      clearTimer: () => {},
    },
    store: {
      load: async () => [],
      save: () => Promise.reject(new Error('the store is not available')),
      delete: async () => {},
    },
    onFailed: () => {},
  })
  persistence.scheduleSave(new CircuitBreaker({ id: 'service:n' }))
  expect(refTimers.size).toBe(1)
  await clock.advance(1000)
  expect(refTimers.size).toBe(0)
})
