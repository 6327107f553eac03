// An application as the Nest CLI creates it: CommonJS, with injection by the types of constructor parameters.
import assert from 'node:assert/strict'
import {
  HoldfastExceptionFilter,
  HoldfastModule,
  InjectGuard,
  InjectHoldfast,
  Resilient,
} from '@holdfast/nestjs'
import { HoldfastHealthIndicator } from '@holdfast/nestjs/terminus'
import { Holdfast } from '@holdfast/runtime'
import { Controller, Get, Injectable, Module, Param, ParseIntPipe } from '@nestjs/common'
import { APP_FILTER, NestFactory } from '@nestjs/core'
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus'
import { type Guard, isHoldfastError, sessionOf } from 'holdfast'

@Injectable()
class Prices {
  calls = 0

  @Resilient('prices')
  async load(id: number): Promise<{ id: number; calls: number }> {
    if (++this.calls % 2 === 1) throw new Error('connection lost')
    return { id, calls: this.calls }
  }
}

@Controller()
class AppController {
  constructor(
    private readonly prices: Prices,
    @InjectHoldfast() private readonly hf: Holdfast,
    @InjectGuard('mail') private readonly mail: Guard,
    private readonly health: HealthCheckService,
    private readonly indicator: HoldfastHealthIndicator,
  ) {}

  @Resilient('prices')
  @Get('prices/:id')
  async above(@Param('id', ParseIntPipe) id: number): Promise<unknown> {
    return this.prices.load(id)
  }

  @Get('mail')
  async send(): Promise<string> {
    const error: unknown = await this.mail
      .run(() => Promise.reject(new Error('refused')))
      .catch((e: unknown) => e)
    if (isHoldfastError(error)) throw error
    return `${sessionOf(error)?.attempts.length} attempts`
  }

  @Get('sessions')
  async sessions(): Promise<unknown> {
    const { items } = await this.hf.sessions.list()
    return items.map(({ operation }) => operation).sort()
  }

  @Get('health')
  @HealthCheck()
  check(): Promise<unknown> {
    return this.health.check([
      () => this.indicator.checkStore('store'),
      () => this.indicator.checkBreakers('breakers'),
    ])
  }
}

@Module({
  imports: [
    HoldfastModule.forRootAsync({
      useFactory: () => ({
        open: {
          config: {
            version: '1.2.0',
            store: 'memory',
            policies: { prices: { maxAttempts: 3, backoffType: 'immediate' } },
          },
        },
        guards: {
          mail: { retry: { maxAttempts: 2, backoffType: 'immediate' }, breaker: { failureThreshold: 2 } },
        },
      }),
    }),
    HoldfastModule.forFeature(['mail']),
    TerminusModule.forRoot({ logger: false }),
  ],
  controllers: [AppController],
  providers: [Prices, HoldfastHealthIndicator, { provide: APP_FILTER, useClass: HoldfastExceptionFilter }],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'fatal'] })
  await app.listen(0, '127.0.0.1')
  const url = await app.getUrl()
  const get = async (path: string) => {
    const response = await fetch(url + path)
    return [response.status, JSON.parse((await response.text()).replace(/^(?=[^[{])(.*)$/, '"$1"'))] as const
  }
  assert.deepEqual(await get('/prices/7'), [200, { id: 7, calls: 2 }])
  assert.equal((await get('/prices/seven'))[0], 400)
  const [, { details }] = await get('/health')
  assert.deepEqual(details, {
    store: { status: 'up', store: 'memory', runtime: 'ok' },
    breakers: { status: 'up', open: [], halfOpen: [] },
  })
  assert.deepEqual(await get('/mail'), [200, '2 attempts'])
  const [status, body] = await get('/mail')
  assert.deepEqual([status, body.error], [503, 'CIRCUIT_OPEN'])
  assert.equal((await get('/health'))[0], 503)
  assert.deepEqual(await get('/sessions'), [200, ['mail', 'mail', 'prices']])
  const hf = app.get<Holdfast>('HOLDFAST')
  await app.close()
  assert.equal((await hf.health()).status, 'closed')
}

void main()
