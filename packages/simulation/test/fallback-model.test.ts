import type { DeadLetter } from '@holdfast/records'
import type { Store } from '@holdfast/store'
import { describe, expect, it } from 'vitest'
import { FallbackModel } from '../src/dead-letters/fallback-model.js'
import type { Process } from '../src/process/simulated-node.js'

const ENTRY = { dlqId: 'd1', originalPayload: { n: 1 } } as unknown as DeadLetter
const LIMITS = { maxEntries: 10 }

/** A fallback whose files accept everything, in a process with a given state. */
async function keepEntry(
  state: { timer?: unknown; isClosed?: boolean; unmovableIds?: Set<string> } = {},
  purgeError?: Error,
) {
  const inDatabase = new Set<string>()
  const onDisk = new Set(['d1'])
  const model = new FallbackModel(
    (id) => inDatabase.has(id),
    (id) => onDisk.has(id),
  )
  const deadLetters = {
    add: async () => [{ result: 'added', entry: ENTRY }],
    purge: async () => {
      if (purgeError !== undefined) throw purgeError
      return 1
    },
  } as unknown as Store['deadLetters']
  const diskFallback = { isClosed: false, unmovableIds: new Set(), ...state }
  const process = {
    name: 'n0.1',
    isAlive: true,
    runtime: { store: { state: { diskFallback } } },
  } as unknown as Process
  model.observe({ deadLetters } as Store, process, (check) => check())
  await deadLetters.add([ENTRY], LIMITS)
  return { model, process, deadLetters, inDatabase, onDisk }
}

describe('the model of a disk fallback', () => {
  it('knows the entries that were acknowledged, with their payloads', async () => {
    const { model } = await keepEntry()
    expect(model.hasKept('d1', { n: 1 })).toBe(true)
    expect(model.hasKept('d1', { n: 2 })).toBe(false)
  })

  it('reports an entry that nothing will move', async () => {
    const { model, process } = await keepEntry()
    expect(() => model.checkScheduled(process)).toThrow('nothing will move it')
  })

  it('accepts an entry with a timer, of a store that closes, or that cannot be moved', async () => {
    for (const state of [{ timer: {} }, { isClosed: true }, { unmovableIds: new Set(['d1']) }]) {
      const { model, process } = await keepEntry(state)
      model.checkScheduled(process)
    }
  })

  it('reports an entry that is deleted before the database has it', async () => {
    const { deadLetters } = await keepEntry()
    await expect(deadLetters.purge({ ids: ['d1'] }, new Date(0))).rejects.toThrow(
      'PostgreSQL does not have it',
    )
  })

  it('reports an entry that is left after the faults, and none after it was moved', async () => {
    const { model, deadLetters, inDatabase } = await keepEntry()
    expect(() => model.checkEmpty('n0')).toThrow('is still in the disk fallback of n0')
    inDatabase.add('d1')
    await deadLetters.purge({ ids: ['d1'] }, new Date(0))
    model.checkEmpty('n0')
  })

  it('accepts an entry without a file after its deletion has failed, and no other one', async () => {
    const { model, process, deadLetters, inDatabase, onDisk } = await keepEntry({}, new Error('EIO'))
    onDisk.delete('d1')
    expect(() => model.checkScheduled(process)).toThrow('nothing will move it')
    onDisk.add('d1')
    inDatabase.add('d1')
    await expect(deadLetters.purge({ ids: ['d1'] }, new Date(0))).rejects.toThrow('EIO')
    expect(() => model.checkScheduled(process)).toThrow('nothing will move it')
    expect(() => model.checkEmpty('n0')).toThrow('is still in the disk fallback of n0')
    onDisk.delete('d1')
    model.checkScheduled(process)
    expect(model.isEmpty).toBe(true)
  })
})
