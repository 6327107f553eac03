import { mkdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from 'holdfast/internal'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ProcessLock } from '../../src/files/process-lock.js'
import { tempFolder } from '../place.js'

// An operation that failed after the file of a claim had been created, for example because the process had too many open files, left
// the claim behind. Its process was alive, so that no process could acquire the lock until that process ended.

afterEach(() => void vi.restoreAllMocks())

/** The private methods that a test makes fail. */
const methods = ProcessLock.prototype as unknown as { names(): string[]; createEntry(name: string): boolean }

const failOnce = (method: keyof typeof methods, code: string) =>
  vi.spyOn(methods, method).mockImplementationOnce(() => {
    throw Object.assign(new Error(code), { code })
  })

describe('a claim of a lock', () => {
  it('is released if the folder cannot be listed after it', async () => {
    const folder = join(await tempFolder(), 'lock')
    const lock = new ProcessLock(folder)
    expect(lock.tryAcquire()).toBe(true)
    lock.release()
    failOnce('names', 'EMFILE')
    expect(() => lock.tryAcquire()).toThrow(/too many files open/)
    expect(lock.tryAcquire()).toBe(true)
    lock.release()
    expect(new ProcessLock(folder).isHeld()).toBe(false)
  })

  it('is released if the claim of an earlier holder cannot be deleted', async () => {
    const folder = join(await tempFolder(), 'lock')
    const earlier = join(folder, '0')
    mkdirSync(earlier, { recursive: true })
    const lock = new ProcessLock(folder)
    expect(() => lock.tryAcquire()).toThrow(expect.objectContaining({ code: 'STORE_UNAVAILABLE' }))
    rmdirSync(earlier)
    expect(lock.tryAcquire()).toBe(true)
    lock.release()
  })
})

it('does not keep the process running while a lock cannot be released', async () => {
  const lock = new ProcessLock(join(await tempFolder(), 'lock'))
  expect(lock.tryAcquire()).toBe(true)
  failOnce('createEntry', 'EIO')
  const unref = vi.fn()
  vi.spyOn(systemClock, 'setTimer').mockReturnValueOnce({ unref })
  lock.release()
  expect(unref).toHaveBeenCalledOnce()
  lock.release()
  expect(lock.isHeld()).toBe(false)
})
