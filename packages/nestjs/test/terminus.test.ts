import { Holdfast } from '@holdfast/runtime'
import { Controller, Get } from '@nestjs/common'
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus'
import { HoldfastError } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { HoldfastModule, type HoldfastModuleOptions } from '../src/index.js'
import { HoldfastHealthIndicator } from '../src/terminus/index.js'
import { get, start } from './http.js'

@Controller('health')
class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly holdfast: HoldfastHealthIndicator,
  ) {}

  @Get('breakers')
  @HealthCheck()
  breakers() {
    return this.health.check([() => this.holdfast.checkBreakers('breakers')])
  }

  @Get('mail')
  @HealthCheck()
  mail() {
    return this.health.check([() => this.holdfast.checkBreakers('mail', { only: ['service:mail', 'gone'] })])
  }

  @Get('store')
  @HealthCheck()
  store() {
    return this.health.check([() => this.holdfast.checkStore('store')])
  }
}

const application = (options: HoldfastModuleOptions) =>
  start({
    imports: [HoldfastModule.forRoot(options), TerminusModule.forRoot({ logger: false })],
    controllers: [HealthController],
    providers: [HoldfastHealthIndicator],
  })

describe('HoldfastHealthIndicator.checkBreakers', () => {
  it('is down while a breaker of the runtime or of a guard is open', async () => {
    const clock = fakeClock()
    const hf = await Holdfast.open({ clock, config: { circuitBreakers: { mail: {}, sms: {} } } })
    const { url } = await application({
      runtime: hf,
      clock,
      guards: { prices: { retry: false, breaker: { failureThreshold: 1 } } },
    })
    expect(await get(`${url}/health/breakers`)).toMatchObject({
      status: 200,
      body: { details: { breakers: { status: 'up', open: [], halfOpen: [] } } },
    })
    await hf.breakers.trip('service:mail', { by: 'ops' })
    expect(await get(`${url}/health/breakers`)).toMatchObject({
      status: 503,
      body: { details: { breakers: { status: 'down', open: ['service:mail'], halfOpen: [] } } },
    })
    expect(await get(`${url}/health/mail`)).toMatchObject({
      status: 503,
      body: { details: { mail: { status: 'down', open: ['service:mail'], missing: ['gone'] } } },
    })
  })

  it('is up when the next call can be a probe, so that a process without requests recovers', async () => {
    const clock = fakeClock()
    const { url, app } = await application({
      clock,
      guards: {
        prices: { retry: false, breaker: { failureThreshold: 1, timeoutDuration: 30_000 } },
      },
    })
    const { GUARD_REGISTRY } = await import('../src/tokens.js')
    await app
      .get(GUARD_REGISTRY)
      .run('prices', () => Promise.reject(new Error('refused')))
      .catch(() => {})
    expect(await get(`${url}/health/breakers`)).toMatchObject({
      status: 503,
      body: { details: { breakers: { open: ['prices'] } } },
    })
    await clock.advance(30_000)
    expect(await get(`${url}/health/breakers`)).toMatchObject({
      status: 200,
      body: { details: { breakers: { status: 'up', open: [], halfOpen: ['prices'] } } },
    })
  })
})

describe('HoldfastHealthIndicator.checkStore', () => {
  it('is up while the store can be read, and down with the code of the error otherwise', async () => {
    const hf = await Holdfast.open({ config: {} })
    const { url } = await application({ runtime: hf })
    expect(await get(`${url}/health/store`)).toMatchObject({
      status: 200,
      body: { details: { store: { status: 'up', store: 'memory', runtime: 'ok' } } },
    })
    hf.store.values.get = () =>
      Promise.reject(new HoldfastError('STORE_UNAVAILABLE', 'postgres://app:hunter2@db.internal'))
    const { status, body } = await get(`${url}/health/store`)
    expect(status).toBe(503)
    expect(body).toMatchObject({ details: { store: { status: 'down', error: 'STORE_UNAVAILABLE' } } })
    expect(JSON.stringify(body)).not.toContain('hunter2')
  })

  it('is down after the runtime was closed', async () => {
    const hf = await Holdfast.open({ config: {} })
    const { url } = await application({ runtime: hf })
    await hf.close()
    expect(await get(`${url}/health/store`)).toMatchObject({
      status: 503,
      body: { details: { store: { status: 'down', runtime: 'closed' } } },
    })
  })

  it('fails without a runtime', async () => {
    const { app } = await application({})
    await expect(app.get(HoldfastHealthIndicator).checkStore('store')).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
  })
})
