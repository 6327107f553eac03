import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AuditRecord, Holdfast } from '../../src/index.js'
import { start } from './setup.js'

let stderr: string[]
beforeEach(() => {
  stderr = []
  vi.spyOn(console, 'error').mockImplementation((line) => void stderr.push(String(line)))
})
afterEach(() => vi.restoreAllMocks())

/** The store's journal of audit records, which refuses while it is told to. */
function journal(hf: Holdfast) {
  const { audit } = hf['store']
  const append = audit.append.bind(audit)
  const written: AuditRecord[] = []
  const state = { away: false, written }
  audit.append = async (records) => {
    if (state.away) throw new Error('the store is away')
    written.push(...records)
    await append(records)
  }
  return state
}

describe('audit records', () => {
  it('wait in order for an unavailable store, and delay no call', async () => {
    const { hf, clock, events } = await start({ circuitBreakers: { api: {} } })
    const store = journal(hf)
    store.away = true
    await hf.breakers.trip('service:api', { by: 'ann' })
    await hf.breakers.reset('service:api', { by: 'bob', reason: 'repaired' })
    expect(store.written).toEqual([])
    expect(stderr.join('\n')).toContain(
      'audit records could not be written yet, they stay in memory: the store is away',
    )
    expect(events.map(({ eventType, context }) => [eventType, context?.['records']])).toContainEqual([
      'storage_warning',
      'audit records',
    ])
    store.away = false
    await clock.advance(1000)
    expect(store.written.map(({ action, actor, reason }) => [action, actor, reason])).toEqual([
      ['breaker.trip', 'ann', undefined],
      ['breaker.reset', 'bob', 'repaired'],
    ])
  })

  it('that waited are listed once each when the store is available again', async () => {
    const { hf, clock } = await start({ circuitBreakers: { api: {} } })
    const store = journal(hf)
    store.away = true
    await hf.breakers.trip('service:api', { by: 'ann' })
    store.away = false
    await hf.breakers.reset('service:api', { by: 'bob' })
    await clock.advance(5000)
    const { items } = await hf.audit.list({ order: 'oldest' })
    expect(items.map(({ action }) => action)).toEqual(['breaker.trip', 'breaker.reset'])
  })

  it('that are pending are written before a list is read', async () => {
    const { hf } = await start({ circuitBreakers: { api: {} } })
    const store = journal(hf)
    store.away = true
    await hf.breakers.trip('service:api', { by: 'ann' })
    store.away = false
    expect((await hf.audit.list()).items.map(({ actor }) => actor)).toEqual(['ann'])
  })

  it('are written by close, or their number is reported as dropped', async () => {
    const { hf } = await start({ circuitBreakers: { api: {} } })
    const store = journal(hf)
    store.away = true
    await hf.breakers.trip('service:api', { by: 'ann' })
    store.away = false
    await hf.close()
    expect(store.written.map(({ actor }) => actor)).toEqual(['ann'])
    const other = await start({ circuitBreakers: { api: {} } })
    journal(other.hf).away = true
    await other.hf.breakers.trip('service:api', { by: 'ann' })
    await other.hf.close()
    expect(stderr.join('\n')).toContain('1 audit records were dropped')
    expect(other.events.map(({ eventType, context }) => [eventType, context?.['records']])).toContainEqual([
      'events_dropped',
      'audit records',
    ])
  })
})
