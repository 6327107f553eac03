import { STATUS_CODES } from 'node:http'
import { type ArgumentsHost, Catch, HttpException } from '@nestjs/common'
import { BaseExceptionFilter } from '@nestjs/core'
import { HoldfastError, type HoldfastErrorCode } from 'holdfast'
import { ownErrorOf } from 'holdfast/internal'

/** Codes that report a mistake in the program or its configuration. The client has not caused them. */
const PROGRAM_ERRORS: ReadonlySet<HoldfastErrorCode> = new Set([
  'INVALID_OPTIONS',
  'CONFIG_INVALID',
  'POLICY_NOT_FOUND',
])

const toHttpException = (error: HoldfastError, status: number): HttpException =>
  new HttpException(
    { statusCode: status, error: error.code, message: STATUS_CODES[status] ?? 'Error' },
    status,
    { cause: error },
  )

interface HeaderWriter {
  setHeader(response: unknown, name: string, value: string): unknown
  isHeadersSent(response: unknown): boolean
}

/**
 * Answers errors of Holdfast with their HTTP status: CIRCUIT_OPEN with 503, TOTAL_TIMEOUT with 504. If the error tells when a
 * retry makes sense, the answer has the header Retry-After. The body has the code and the text of the status; it does not
 * contain the message of the error. Other errors, such as that of a last attempt, are not caught.
 *
 * @example
 * ```ts
 * import { HoldfastExceptionFilter, HoldfastModule, Resilient } from '@holdfast/nestjs'
 * import { Controller, Get, Module } from '@nestjs/common'
 * import { APP_FILTER, NestFactory } from '@nestjs/core'
 *
 * @Controller('prices')
 * class PricesController {
 *   @Get()
 *   @Resilient('prices')
 *   async list(): Promise<string[]> {
 *     throw new Error('connection lost')
 *   }
 * }
 *
 * @Module({
 *   imports: [
 *     HoldfastModule.forRoot({
 *       guards: { prices: { retry: false, breaker: { failureThreshold: 1, timeoutDuration: 30_000 } } },
 *     }),
 *   ],
 *   controllers: [PricesController],
 *   providers: [{ provide: APP_FILTER, useClass: HoldfastExceptionFilter }],
 * })
 * class AppModule {}
 *
 * const app = await NestFactory.create(AppModule, { logger: false })
 * await app.listen(0, '127.0.0.1')
 * const url = `${await app.getUrl()}/prices`
 * const statuses = [(await fetch(url)).status, (await fetch(url)).status]
 * statuses // => [500, 503]
 * const answer = await fetch(url)
 * answer.headers.get('retry-after') // => '30'
 * await answer.json() // => { statusCode: 503, error: 'CIRCUIT_OPEN', message: 'Service Unavailable' }
 * await app.close()
 * ```
 */
@Catch(HoldfastError)
export class HoldfastExceptionFilter extends BaseExceptionFilter {
  /** Answers the error. Outside of HTTP it throws the error again. */
  override catch(error: HoldfastError, host: ArgumentsHost): void {
    if (host.getType() !== 'http') throw error
    const [, status] = ownErrorOf(error.code) ?? []
    const isKnown = status !== undefined && !PROGRAM_ERRORS.has(error.code)
    if (isKnown) this.setRetryAfter(error, status, host)
    // oxlint-disable-next-line promise/valid-params -- not the method of a promise
    super.catch(isKnown ? toHttpException(error, status) : error, host)
  }

  private setRetryAfter({ retryAfter }: HoldfastError, status: number, host: ArgumentsHost): void {
    const adapter = (this.applicationRef ?? this.httpAdapterHost?.httpAdapter) as HeaderWriter | undefined
    const response: unknown = host.switchToHttp().getResponse()
    if (retryAfter === undefined || !Number.isFinite(retryAfter) || status < 500) return
    if (adapter === undefined || adapter.isHeadersSent(response)) return
    // Rounded up, so that a client does not retry too early.
    adapter.setHeader(response, 'retry-after', String(Math.max(0, Math.ceil(retryAfter / 1000))))
  }
}
