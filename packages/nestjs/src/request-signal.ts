import type { ServerResponse } from 'node:http'
import { createParamDecorator, type ExecutionContext } from '@nestjs/common'
import { HoldfastError } from 'holdfast'

const signals = new WeakMap<object, AbortSignal>()

/** The signal of a response of `node:http`: aborted when its connection closes before the response has ended. */
function signalOf(response: ServerResponse): AbortSignal {
  const existing = signals.get(response)
  if (existing !== undefined) return existing
  const controller = new AbortController()
  const abort = () => controller.abort(new HoldfastError('CANCELLED', 'the client has disconnected'))
  if (response.destroyed && !response.writableEnded) abort()
  else response.once('close', () => void (response.writableEnded || abort()))
  signals.set(response, controller.signal)
  return controller.signal
}

/**
 * A parameter of a route handler: a signal that is aborted when the client disconnects before the answer is complete. Works with
 * Express and Fastify. Outside of HTTP the signal is never aborted.
 *
 * @example
 * ```ts
 * import { HoldfastModule, RequestSignal, Resilient } from '@holdfast/nestjs'
 * import { Controller, Get, Module } from '@nestjs/common'
 * import { NestFactory } from '@nestjs/core'
 *
 * @Controller('report')
 * class ReportController {
 *   @Get()
 *   @Resilient('report', (signal: AbortSignal) => ({ signal }))
 *   async build(@RequestSignal() signal: AbortSignal): Promise<string> {
 *     return signal.aborted ? 'the client has disconnected' : 'report'
 *   }
 * }
 *
 * @Module({ imports: [HoldfastModule.forRoot({ guards: { report: {} } })], controllers: [ReportController] })
 * class AppModule {}
 *
 * const app = await NestFactory.create(AppModule, { logger: false })
 * await app.listen(0, '127.0.0.1')
 * const answer = await fetch(`${await app.getUrl()}/report`)
 * await answer.text() // => 'report'
 * await app.close()
 * ```
 */
export const RequestSignal: () => ParameterDecorator = createParamDecorator(
  (_: unknown, context: ExecutionContext): AbortSignal => {
    if (context.getType() !== 'http') return new AbortController().signal
    const response = context.switchToHttp().getResponse<ServerResponse | { raw: ServerResponse }>()
    // A reply of Fastify has the response of node:http as `raw`.
    return signalOf('raw' in response ? response.raw : response)
  },
)
