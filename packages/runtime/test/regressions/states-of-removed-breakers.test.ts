import { type BreakerSnapshot, CircuitBreaker } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { expect, it } from 'vitest'
import { memoryStore } from '../../../store/src/memory/index.js'
import { BreakerPersistence } from '../../src/breakers/persistence.js'

// The state of a breaker was never deleted. With `persist_state`, a pool whose members change added a row for each member that it ever
// had, and every process loaded all of them.

const DAY_MS = 86_400_000

it('a process deletes the states of breakers that have not changed for 30 days, and keeps those that still apply', async () => {
  const store = memoryStore()
  const clock = fakeClock()
  const save = (id: string, age: number, more: Partial<BreakerSnapshot> = {}) => {
    const updatedAt = new Date(clock.wall() - age)
    const snapshot = { ...new CircuitBreaker({ id, clock }).snapshot(), ...more }
    return store.breakers.save([{ snapshot, createdAt: updatedAt, updatedAt }])
  }
  const open = (testIn: number) => ({ state: 'open' as const, nextTestTime: clock.wall() + testIn })
  await save('removed', 31 * DAY_MS)
  await save('removed while open', 31 * DAY_MS, open(-31 * DAY_MS))
  await save('recent', 29 * DAY_MS)
  await save('disabled', 400 * DAY_MS, { disabled: true })
  await save('tripped for a year', 31 * DAY_MS, open(334 * DAY_MS))
  const persistence = new BreakerPersistence({ clock, store: store.breakers, onFailed: () => {} })
  const kept = ['disabled', 'recent', 'tripped for a year']
  expect((await persistence.load()).map(({ snapshot }) => snapshot.id).toSorted()).toEqual(kept)
  expect((await store.breakers.load()).map(({ snapshot }) => snapshot.id).toSorted()).toEqual(kept)
})
