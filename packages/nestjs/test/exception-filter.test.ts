import { Holdfast } from '@holdfast/runtime'
import { type ArgumentsHost, Controller, Get, Param, Res, UseFilters } from '@nestjs/common'
import { APP_FILTER, HttpAdapterHost } from '@nestjs/core'
import { HoldfastError, type HoldfastErrorCode } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { HoldfastExceptionFilter, HoldfastModule, Resilient } from '../src/index.js'
import { get, start } from './http.js'

const SECRET = 'postgres://app:hunter2@db.internal'

@Controller()
class ErrorsController {
  @Get('errors/:code')
  async fail(@Param('code') code: string): Promise<never> {
    throw new HoldfastError(code as HoldfastErrorCode, SECRET, { retryAfter: 1200, details: [SECRET] })
  }

  @Get('other')
  async other(): Promise<never> {
    throw new Error(SECRET)
  }

  @Get('sent')
  async sent(@Res() response: { write(text: string): void }): Promise<never> {
    response.write('first part')
    throw new HoldfastError('CIRCUIT_OPEN', SECRET, { retryAfter: 1000 })
  }
}

const FILTER = { provide: APP_FILTER, useClass: HoldfastExceptionFilter }

describe('HoldfastExceptionFilter', () => {
  it.each<[HoldfastErrorCode, number, string, string | null]>([
    ['CIRCUIT_OPEN', 503, 'Service Unavailable', '2'],
    ['BULKHEAD_FULL', 503, 'Service Unavailable', '2'],
    ['TOTAL_TIMEOUT', 504, 'Gateway Timeout', '2'],
    ['DEAD_LETTER_NOT_FOUND', 404, 'Not Found', null],
  ])('answers %s with %i and without its message', async (code, status, message, retryAfter) => {
    const { url } = await start({ controllers: [ErrorsController], providers: [FILTER] })
    expect(await get(`${url}/errors/${code}`)).toEqual({
      status,
      retryAfter,
      body: { statusCode: status, error: code, message },
    })
  })

  it.each(['INVALID_OPTIONS', 'POLICY_NOT_FOUND', 'CODE_OF_A_LATER_VERSION'])(
    'answers %s with 500, because the client has not caused it',
    async (code) => {
      const { url } = await start({ controllers: [ErrorsController], providers: [FILTER] })
      expect(await get(`${url}/errors/${code}`)).toEqual({
        status: 500,
        retryAfter: null,
        body: { statusCode: 500, message: 'Internal server error' },
      })
    },
  )

  it('leaves other errors to Nest', async () => {
    const { url } = await start({ controllers: [ErrorsController], providers: [FILTER] })
    expect((await get(`${url}/other`)).body).toEqual({ statusCode: 500, message: 'Internal server error' })
  })

  it('ends an answer whose headers are already sent', async () => {
    const { url } = await start({ controllers: [ErrorsController], providers: [FILTER] })
    expect(await get(`${url}/sent`)).toMatchObject({ status: 200, body: 'first part' })
  })

  it('works with an adapter that the application passes', async () => {
    const { url } = await start({ controllers: [ErrorsController] }, (app) =>
      app.useGlobalFilters(new HoldfastExceptionFilter(app.get(HttpAdapterHost).httpAdapter)),
    )
    expect(await get(`${url}/errors/CIRCUIT_OPEN`)).toMatchObject({ status: 503, retryAfter: '2' })
  })

  it('throws the error again outside of HTTP', () => {
    const error = new HoldfastError('CIRCUIT_OPEN', 'open')
    const host = { getType: () => 'rpc' } as unknown as ArgumentsHost
    expect(() => new HoldfastExceptionFilter().catch(error, host)).toThrow(error)
  })
})

describe('a dependency that fails', () => {
  it('opens the breaker of its operation, which is answered with 503 and Retry-After until it recovers', async () => {
    const clock = fakeClock()
    const hf = await Holdfast.open({
      clock,
      config: {
        circuitBreakers: { mail: { failureThreshold: 2, timeoutDuration: 30_000 } },
        policies: { mail: { maxAttempts: 1 } },
      },
    })
    let isDown = true
    let calls = 0

    @Controller('mail')
    @UseFilters(HoldfastExceptionFilter)
    class MailController {
      @Get()
      @Resilient('mail', { service: 'mail' })
      async send(): Promise<string> {
        calls++
        if (isDown) throw new Error('connection refused')
        return 'sent'
      }
    }

    const { url } = await start({
      imports: [HoldfastModule.forRoot({ runtime: hf })],
      controllers: [MailController],
    })
    const statuses = [(await get(`${url}/mail`)).status, (await get(`${url}/mail`)).status]
    expect(statuses).toEqual([500, 500])
    expect(await get(`${url}/mail`)).toEqual({
      status: 503,
      retryAfter: '30',
      body: { statusCode: 503, error: 'CIRCUIT_OPEN', message: 'Service Unavailable' },
    })
    expect(calls).toBe(2)
    isDown = false
    await clock.advance(30_000)
    expect(await get(`${url}/mail`)).toMatchObject({ status: 200, body: 'sent' })
  })
})
