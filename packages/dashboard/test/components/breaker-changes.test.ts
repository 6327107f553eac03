import { describe, expect, it } from 'vitest'
import { applyChanges, formatTimesOpened, knownFrom, mergeChanges } from '../../src/pages/breakers/changes.js'

const change = (id: string, at: number, from_state: string, to_state: string) =>
  ({
    id,
    proxy_id: id,
    from_state,
    to_state,
    timestamp: new Date(at).toISOString(),
    failure_count: 3,
  }) as never

const breaker = (id: string, state: string, at: number) =>
  ({
    id,
    state,
    failure_count: 0,
    timeout_duration: 30,
    last_state_change: new Date(at).toISOString(),
  }) as never

const opened = change('a', 1000, 'closed', 'open')
const tested = change('a', 2000, 'open', 'half_open')
const closed = change('a', 3000, 'half_open', 'closed')

describe('the changes of breakers', () => {
  it('are sorted newest first without duplicates, even if they arrive late', () => {
    const loaded = mergeChanges([closed, tested])
    // The feed begins with what has just happened, some of which is older than what was loaded.
    const told = mergeChanges([opened, tested], loaded)
    expect(told.get('a')).toEqual([closed, tested, opened])
    expect(mergeChanges([change('b', 5000, 'closed', 'open')], told).get('a')).toEqual([
      closed,
      tested,
      opened,
    ])
  })

  it('update older states and do not change newer ones', () => {
    const list = [breaker('a', 'closed', 3000), breaker('b', 'closed', 100)]
    expect(applyChanges(list, [opened, tested])).toEqual(list)
    const [, b] = applyChanges(list, [
      change('b', 4000, 'closed', 'open'),
      change('b', 2000, 'half_open', 'closed'),
    ])
    expect(b).toMatchObject({
      state: 'open',
      failure_count: 3,
      last_state_change: '1970-01-01T00:00:04.000Z',
      next_test_time: '1970-01-01T00:00:34.000Z',
    })
    expect(applyChanges([b as never], [change('b', 5000, 'open', 'half_open')])[0]?.next_test_time).toBeNull()
  })

  it('are counted as times opened in the last hour, with a plus if older ones are not loaded', () => {
    const now = 3_600_000 + 1500
    const changes = [
      change('a', 4000, 'half_open', 'open'),
      tested,
      change('a', 1600, 'closed', 'open'),
      opened,
    ]
    expect(formatTimesOpened(changes, 0, now)).toBe('2')
    expect(formatTimesOpened(changes, 1600, now)).toBe('2+')
    expect(formatTimesOpened([], 0, now)).toBe('0')
    // The event of the second opening is a millisecond later than its record.
    expect(formatTimesOpened([change('a', 4001, 'half_open', 'open'), ...changes], 0, now)).toBe('2')
  })

  it('have a time from which all of them are known', () => {
    expect(knownFrom(breaker('a', 'closed', 700), [], 500, 0)).toBe(700)
    expect(knownFrom(breaker('a', 'closed', 200), [], 500, 0)).toBe(500)
    expect(knownFrom(breaker('a', 'closed', 3000), [closed, tested], 500, 0)).toBe(500)
    // Nothing is said of the time before there was a process, but where something is remembered of it.
    expect(knownFrom(breaker('a', 'closed', 3000), [closed], 500, 700)).toBe(700)
    expect(knownFrom(breaker('a', 'closed', 3000), [closed], 500, 9000)).toBe(3000)
    const many = Array.from({ length: 500 }, (_, n) => change('a', 1000 + n, 'closed', 'open'))
    const kept = mergeChanges(many).get('a') ?? []
    expect(knownFrom(breaker('a', 'open', 3000), kept, 500, 0)).toBe(1500 - kept.length)
  })
})
