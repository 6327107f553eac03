import { Controller, Get } from '@nestjs/common'
import { guard, isHoldfastError } from 'holdfast'
import { describe, expect, it } from 'vitest'
import { HoldfastModule, RequestSignal, Resilient } from '../src/index.js'
import { deferred, get, start } from './http.js'

describe('@RequestSignal', () => {
  it('ends a call when the client disconnects', async () => {
    const entered = deferred<void>()
    const ended = deferred<unknown>()
    const waiting = guard({ retry: { maxAttempts: 5 } })

    @Controller()
    class SlowController {
      @Get()
      async slow(@RequestSignal() signal: AbortSignal): Promise<unknown> {
        const call = waiting.run(
          (attempt) => {
            entered.resolve()
            return new Promise((_, reject) =>
              attempt.signal.addEventListener('abort', () => reject(attempt.signal.reason)),
            )
          },
          { signal },
        )
        call.catch((error: unknown) => ended.resolve(error))
        return call
      }
    }

    const { url } = await start({ controllers: [SlowController] })
    const client = new AbortController()
    const answer = fetch(url, { signal: client.signal })
    await entered.promise
    client.abort()
    await expect(answer).rejects.toThrow()
    const error = await ended.promise
    expect(isHoldfastError(error, 'CANCELLED')).toBe(true)
    expect((error as Error).message).toBe('the client has disconnected')
  })

  it('is the same signal for each parameter of a request and is not aborted by a complete answer', async () => {
    const signals: AbortSignal[] = []

    @Controller()
    class QuickController {
      @Get()
      @Resilient('quick', (signal: AbortSignal) => ({ signal }))
      async quick(
        @RequestSignal() first: AbortSignal,
        @RequestSignal() second: AbortSignal,
      ): Promise<boolean> {
        signals.push(first)
        return first === second
      }
    }

    const { app, url } = await start({
      imports: [HoldfastModule.forRoot({ guards: { quick: {} } })],
      controllers: [QuickController],
    })
    expect((await get(url, { headers: { connection: 'close' } })).body).toBe('true')
    await app.close()
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  })
})
