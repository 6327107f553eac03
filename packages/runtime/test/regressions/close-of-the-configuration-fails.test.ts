import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Configuration } from '../../src/config/configuration.js'
import { DeadLetters } from '../../src/dead-letters/dead-letters.js'
import { Holdfast } from '../../src/index.js'

// The promise of config.close() had no handler while close() waited for calls: a failure was an unhandled rejection, which ends
// the process, and close() then ended before the store was closed.

afterEach(() => void vi.restoreAllMocks())

describe('closing a runtime whose configuration or queue cannot be closed', () => {
  it.each([
    ['configuration', Configuration],
    ['dead-letter queue', DeadLetters],
  ])('reports the failure of the %s once, and closes everything else', async (what, part) => {
    const warned = vi.spyOn(console, 'error').mockImplementation(() => {})
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    onTestFinished(() => void process.off('unhandledRejection', unhandled))
    const hf = await Holdfast.open({ config: { policies: { p: { maxAttempts: 1 } } } })
    const closed = vi.spyOn(hf.store, 'close')
    vi.spyOn(part.prototype, 'close').mockRejectedValue(new Error('cannot be closed'))
    let finish = () => {}
    const call = hf.run('p', () => new Promise<void>((resolve) => (finish = resolve)))
    const closing = hf.close()
    // A rejection without a handler is reported after the microtasks.
    await new Promise((resolve) => setImmediate(resolve))
    finish()
    await call
    await closing
    expect(unhandled).not.toHaveBeenCalled()
    expect(closed).toHaveBeenCalledOnce()
    const lines = warned.mock.calls.map(String).filter((line) => line.includes('cannot be closed'))
    expect(lines).toEqual([expect.stringContaining(what)])
  })
})
