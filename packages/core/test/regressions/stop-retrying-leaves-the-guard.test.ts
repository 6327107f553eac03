import { afterEach, describe, expect, it, vi } from 'vitest'
import * as ft from '../../src/decorators/index.js'
import { createFetch } from '../../src/http/index.js'
import { guard, sessionOf, stopRetrying } from '../../src/index.js'

const closed = new Error('the account is closed')
const rejection = (promise: Promise<unknown>) => promise.catch((error: unknown) => error)

afterEach(() => ft.configureDecorators())

describe('an error of stopRetrying does not leave the guard', () => {
  it('that a fallback throws', async () => {
    const api = guard({
      retry: false,
      fallback: () => {
        throw stopRetrying(closed)
      },
    })
    const down = new Error('down')
    const error = await rejection(api.run(() => Promise.reject(down)))
    expect(error).toBe(closed)
    expect(closed.cause).toBe(down)
    expect(sessionOf(closed)?.attempts).toHaveLength(1)
  })

  it('that the fallback of an inner guard throws, so that the outer guard can retry', async () => {
    const inner = guard({ retry: false, fallback: () => Promise.reject(stopRetrying(closed)) })
    const fn = vi.fn(() => inner.run(() => Promise.reject(new Error('down'))))
    const outer = guard({ retry: { maxAttempts: 3, backoffType: 'immediate' } })
    expect(await rejection(outer.run(fn))).toBe(closed)
    expect(fn).toHaveBeenCalledTimes(3)
  })

  it('that the method of @Fallback throws', async () => {
    class Accounts {
      @ft.Fallback({ fallbackMethod: 'cached' })
      async load(): Promise<string> {
        throw new Error('down')
      }

      async cached(): Promise<string> {
        throw stopRetrying(closed)
      }
    }
    expect(await rejection(new Accounts().load())).toBe(closed)
  })

  it('that a decorated method throws while decorators are disabled', async () => {
    class Accounts {
      @ft.Retry({ jitter: 0 })
      async load(): Promise<string> {
        throw stopRetrying(closed)
      }
    }
    ft.configureDecorators({ enabled: false })
    expect(await rejection(new Accounts().load())).toBe(closed)
  })

  it('that the function of a disabled fetch throws', async () => {
    const fetch = createFetch({ enabled: false, fetch: () => Promise.reject(stopRetrying(closed)) })
    expect(await rejection(fetch('https://api.example'))).toBe(closed)
  })
})
