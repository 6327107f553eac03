import { fakeClock } from 'holdfast/testing'
import { expect, it } from 'vitest'
import { LeaseBuffer } from '../../src/dead-letters/lease-buffer.js'

it('does not return a leased entry any more after it has waited too long and was released', async () => {
  const clock = fakeClock()
  const stored = [{ dlqId: 'a' }, { dlqId: 'b' }]
  const released: string[] = []
  const deadLetters = {
    leaseBatch: 10,
    leaseNext: async () => stored.splice(0),
    settle: async (id: string) => void released.push(id),
  }
  const buffer = new LeaseBuffer({
    runtime: { clock, store: { deadLetters } },
    owners: { nextId: () => 'owner' },
    replays: {
      now: () => new Date(clock.wall()),
      leaseEnd: () => new Date(clock.wall() + 60_000),
      running: { withExpiredLease: () => [] },
    },
    concurrency: 2,
    want: async () => ({ statuses: ['pending'] }),
    free: () => 1,
    most: () => Number.POSITIVE_INFINITY,
    isWanted: () => true,
  } as unknown as ConstructorParameters<typeof LeaseBuffer>[0])
  expect((await buffer.next())?.entry.dlqId).toBe('a')
  await clock.advance(10_000)
  expect(released).toEqual(['b'])
  expect(await buffer.next()).toBeUndefined()
  await buffer.close()
  expect(released).toEqual(['b'])
})
