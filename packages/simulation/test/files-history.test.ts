import { describe, expect, it, vi } from 'vitest'
import { Disk } from '../../store/src/files/disk.js'
import { runFilesHistory } from '../src/store-history/files-history.js'
import { StoredState } from '../src/store-history/stored-state.js'

const SEEDS = Array.from({ length: 4 }, (_, seed) => seed + 1)

/** The invariants that the histories of some seeds break. */
async function brokenInvariants(): Promise<Set<string | undefined>> {
  const invariants = new Set<string | undefined>()
  for (const seed of SEEDS) invariants.add((await runFilesHistory(seed))?.invariant)
  return invariants
}

describe('a history of a files store', () => {
  it('finds no violation', async () => {
    expect(await brokenInvariants()).toEqual(new Set([undefined]))
  })

  it('depends on its seed alone', async () => {
    const lines = async (seed: number) => {
      const found: string[] = []
      await runFilesHistory(seed, (at, _subject, text) => found.push(`${at} ${text}`))
      return found
    }
    expect(await lines(3)).toEqual(await lines(3))
    expect(await lines(3)).not.toEqual(await lines(4))
  })

  it('reports a store that does not flush the names of files', async () => {
    vi.spyOn(Disk.prototype, 'syncFolder').mockResolvedValue()
    const invariants = await brokenInvariants()
    vi.restoreAllMocks()
    expect(invariants).not.toContain(undefined)
  })

  it('reports changes of a process that has lost its lock', async () => {
    vi.spyOn(Disk.prototype, 'fencedBy').mockReturnThis()
    const invariants = await brokenInvariants()
    vi.restoreAllMocks()
    expect(invariants).toContain('fence')
  })

  it('reports a call that fails without a fault', async () => {
    vi.spyOn(Disk.prototype, 'append').mockRejectedValue(new Error('a mistake'))
    const invariants = await brokenInvariants()
    vi.restoreAllMocks()
    expect(invariants).toEqual(new Set(['hangs']))
  })
})

describe('the state of a value in a store', () => {
  it('is one of several after a change that failed, until it is read', () => {
    const state = new StoredState('old')
    state.attempt('new')
    expect(state.values).toEqual(['old', 'new'])
    expect(state.observe((value) => value === 'other')).toBe(false)
    expect(state.observe((value) => value === 'new')).toBe(true)
    expect(state.values).toEqual(['new'])
  })

  it('can be an earlier one after a power failure, unless the store has acknowledged or confirmed it', () => {
    const state = new StoredState('old')
    state.attempt('new')
    state.observe((value) => value === 'new')
    state.losePower()
    expect(state.values).toEqual(['old', 'new'])
    state.observe((value) => value === 'new')
    state.confirm()
    state.losePower()
    expect(state.values).toEqual(['new'])
    state.acknowledge('newest')
    state.losePower()
    expect(state.values).toEqual(['newest'])
  })
})
