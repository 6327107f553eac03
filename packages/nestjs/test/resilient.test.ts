import { Holdfast } from '@holdfast/runtime'
import {
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  Header,
  HttpCode,
  Inject,
  Injectable,
  NotFoundException,
  Param,
  ParseIntPipe,
  Query,
  Scope,
  SetMetadata,
  UseFilters,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common'
import { REQUEST, Reflector } from '@nestjs/core'
import { Test } from '@nestjs/testing'
import { guard, sessionOf } from 'holdfast'
import { currentAttempt, Fallback, Retry } from 'holdfast/decorators'
import { map } from 'rxjs'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { HoldfastModule, Resilient } from '../src/index.js'
import { get, start } from './http.js'

const IMMEDIATE = { retry: { maxAttempts: 3, backoffType: 'immediate' } } as const

/** What the parts of Nest and the handlers of a test did, in order. */
const log: string[] = []
beforeEach(() => {
  log.length = 0
})

/** Fails until its third call. */
const failTwice = (label: string): void => {
  log.push(label)
  if (log.filter((each) => each === label).length < 3) throw new Error('connection lost')
}

@Injectable()
class RoleGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const role = this.reflector.get<string>('role', context.getHandler())
    log.push(`guard ${role}`)
    return context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers.role === role
  }
}

class Envelope {
  intercept(context: ExecutionContext, next: CallHandler) {
    log.push(`interceptor ${context.getHandler().name}`)
    return next.handle().pipe(map((data: unknown) => ({ data })))
  }
}

class TeapotError extends Error {}

@Catch(TeapotError)
class TeapotFilter implements ExceptionFilter {
  catch(_: TeapotError, host: ArgumentsHost): void {
    host
      .switchToHttp()
      .getResponse<{ status(code: number): { json(body: unknown): void } }>()
      .status(418)
      .json({ caught: true })
  }
}

@Controller('prices')
@UseGuards(RoleGuard)
@UseInterceptors(Envelope)
@UseFilters(TeapotFilter)
class PricesController {
  @Resilient('prices')
  @Get('above/:id')
  @SetMetadata('role', 'clerk')
  @HttpCode(202)
  @Header('x-source', 'above')
  async above(@Param('id', ParseIntPipe) id: number, @Query('unit') unit: string): Promise<unknown> {
    failTwice('above')
    return { id, unit }
  }

  @Get('below/:id')
  @SetMetadata('role', 'clerk')
  @HttpCode(202)
  @Header('x-source', 'below')
  @Resilient('prices')
  async below(@Param('id', ParseIntPipe) id: number, @Query('unit') unit: string): Promise<unknown> {
    failTwice('below')
    return { id, unit }
  }

  @Resilient('prices')
  @Get('teapot')
  @SetMetadata('role', 'clerk')
  async teapot(): Promise<never> {
    log.push('teapot')
    throw new TeapotError('short and stout')
  }

  @Get('missing')
  @SetMetadata('role', 'clerk')
  @Resilient('prices')
  async missing(): Promise<never> {
    log.push('missing')
    throw new NotFoundException('no such price')
  }
}

const prices = () =>
  start({
    imports: [HoldfastModule.forRoot({ guards: { prices: IMMEDIATE } })],
    controllers: [PricesController],
  })

const CLERK = { headers: { role: 'clerk' } }

describe('@Resilient on a route handler', () => {
  it.each(['above', 'below'])(
    '%s @Get() keeps route, status, headers, pipes and parameters',
    async (place) => {
      const { url } = await prices()
      const response = await fetch(`${url}/prices/${place}/7?unit=kg`, CLERK)
      expect([response.status, response.headers.get('x-source')]).toEqual([202, place])
      expect(await response.json()).toEqual({ data: { id: 7, unit: 'kg' } })
      expect(log).toEqual([`guard clerk`, `interceptor ${place}`, place, place, place])
    },
  )

  it('is not called if a guard or a pipe of Nest rejects the request', async () => {
    const { url } = await prices()
    expect((await get(`${url}/prices/above/7`)).status).toBe(403)
    expect((await get(`${url}/prices/below/seven`, CLERK)).status).toBe(400)
    expect(log).not.toContain('above')
    expect(log).not.toContain('below')
  })

  it('passes the error of the last attempt to the exception filters', async () => {
    const { url } = await prices()
    expect(await get(`${url}/prices/teapot`, CLERK)).toMatchObject({ status: 418, body: { caught: true } })
    expect(log.filter((each) => each === 'teapot')).toHaveLength(3)
  })

  it('does not retry an HttpException with a permanent status', async () => {
    const { url } = await prices()
    expect(await get(`${url}/prices/missing`, CLERK)).toMatchObject({
      status: 404,
      body: { message: 'no such price' },
    })
    expect(log.filter((each) => each === 'missing')).toHaveLength(1)
  })
})

@Injectable()
class Suppliers {
  calls = 0

  async names(): Promise<string[]> {
    if (++this.calls < 2) throw new Error('connection lost')
    return ['Ada']
  }
}

@Injectable()
class Orders {
  constructor(private readonly suppliers: Suppliers) {}

  @Resilient('orders')
  async load(): Promise<string[]> {
    return this.suppliers.names()
  }

  @Resilient('orders')
  async numbers(): Promise<number> {
    const attempt = currentAttempt()
    if (attempt === undefined || attempt.number < 3) throw new Error('connection lost')
    return attempt.number
  }

  @Resilient('audited', (id: string) => ({ context: { id }, correlationId: `order-${id}` }))
  async audit(id: string): Promise<string> {
    throw new Error(`no order ${id}`)
  }

  @Resilient('orders', () => {
    throw new RangeError('no options')
  })
  async badOptions(): Promise<void> {}

  @Fallback({ fallbackMethod: 'cached' })
  @Resilient('orders')
  @Retry({ maxRetries: 1, jitter: 0 })
  async combined(): Promise<string> {
    log.push('combined')
    throw new Error('connection lost')
  }

  async cached(): Promise<string> {
    return 'cached'
  }
}

class SpecialOrders extends Orders {}

const modules = (options: Parameters<typeof HoldfastModule.forRoot>[0]) => async () => {
  const app = await Test.createTestingModule({
    imports: [HoldfastModule.forRoot(options)],
    providers: [Orders, Suppliers, SpecialOrders],
  }).compile()
  onTestFinished(() => app.close())
  return app
}

describe('@Resilient on a provider', () => {
  const compile = modules({ guards: { orders: IMMEDIATE, audited: { retry: false } } })

  it('retries with the dependencies of the object', async () => {
    const app = await compile()
    expect(await app.get(Orders).load()).toEqual(['Ada'])
    expect(app.get(Suppliers).calls).toBe(2)
  })

  it('also retries in a subclass', async () => {
    const app = await compile()
    expect(await app.get(SpecialOrders).numbers()).toBe(3)
  })

  it('offers the attempt through currentAttempt', async () => {
    const app = await compile()
    expect(await app.get(Orders).numbers()).toBe(3)
  })

  it('works together with the decorators of holdfast/decorators', async () => {
    const app = await compile()
    expect(await app.get(Orders).combined()).toBe('cached')
    expect(log).toHaveLength(6)
  })

  it('keeps name and length of the method', () => {
    expect([Orders.prototype.audit.name, Orders.prototype.audit.length]).toEqual(['audit', 1])
  })

  it('rejects if its function for options throws', async () => {
    const app = await compile()
    await expect(app.get(Orders).badOptions()).rejects.toThrow(new RangeError('no options'))
  })

  it('rejects the call of an object that Nest did not create', async () => {
    await expect(new Orders(new Suppliers()).load()).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: 'Orders.load: the object was not created by Nest, or the method was called without it',
    })
    const { load } = new Orders(new Suppliers())
    await expect(load()).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('rejects the call if there is neither a guard of the name nor a runtime', async () => {
    const app = await modules({ guards: { other: {} } })()
    await expect(app.get(Orders).load()).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: 'there is no guard "orders" (defined: "other") and no runtime; add it to HoldfastModule',
    })
  })

  it('fails the start of an application without HoldfastModule', async () => {
    await expect(Test.createTestingModule({ providers: [Orders, Suppliers] }).compile()).rejects.toThrow(
      /HOLDFAST_GUARDS/,
    )
  })

  it('rejects anything but a method of an object when the class is defined', () => {
    const decorate = Resilient('orders') as (...args: unknown[]) => unknown
    const expected = expect.objectContaining({
      message: '@Resilient("orders") of load: expected a method that is not static',
    })
    expect(() => decorate({}, 'load', { value: 1 })).toThrow(expected)
    expect(() => decorate({}, 'load', undefined)).toThrow(expected)
    expect(() => decorate(class {}, 'load', { value: async () => 1 })).toThrow(expected)
  })
})

describe('@Resilient with a runtime', () => {
  it('runs a name without a guard as an operation, with the options of the call', async () => {
    const hf = await Holdfast.open({
      config: { policies: { audited: { maxAttempts: 2, backoffType: 'immediate' } } },
    })
    const app = await modules({ runtime: hf })()
    const error = await app
      .get(Orders)
      .audit('42')
      .catch((reason: unknown) => reason)
    expect(sessionOf(error)?.attempts).toHaveLength(2)
    const { items } = await hf.sessions.list()
    expect(items.map(({ operation, correlationId, context }) => [operation, correlationId, context])).toEqual(
      [['audited', 'order-42', { id: '42' }]],
    )
  })

  it('prefers a guard of the same name, whose calls are recorded too', async () => {
    const hf = await Holdfast.open({ config: {} })
    const app = await modules({ runtime: hf, guards: { audited: { retry: false } } })()
    await expect(app.get(Orders).audit('42')).rejects.toThrow('no order 42')
    const { items } = await hf.sessions.list()
    expect(items.map(({ operation, totalAttempts }) => [operation, totalAttempts])).toEqual([['audited', 1]])
  })

  it('applies a bulkhead of a guard that the module creates', async () => {
    const hf = await Holdfast.open({ config: {} })
    const app = await modules({
      runtime: hf,
      guards: { orders: { ...IMMEDIATE, bulkhead: { limit: 1, queue: 0 } } },
    })()
    const orders = app.get(Orders)
    const results = await Promise.allSettled([orders.numbers(), orders.numbers()])
    expect(
      results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason.code)),
    ).toEqual([3, 'BULKHEAD_FULL'])
  })

  it('does not record calls of a guard that the application created', async () => {
    const hf = await Holdfast.open({ config: {} })
    const app = await modules({ runtime: hf, guards: { orders: guard(IMMEDIATE) } })()
    expect(await app.get(Orders).numbers()).toBe(3)
    expect((await hf.sessions.list()).items).toEqual([])
  })
})

@Injectable({ scope: Scope.REQUEST })
class Tenant {
  attempts = 0

  constructor(@Inject(REQUEST) private readonly request: { headers: Record<string, string> }) {}

  @Resilient('tenant')
  async name(): Promise<string> {
    if (++this.attempts < 2) throw new Error('connection lost')
    return `${this.request.headers.tenant} after ${this.attempts}`
  }
}

@Controller({ path: 'tenant', scope: Scope.REQUEST })
class TenantController {
  constructor(private readonly tenant: Tenant) {}

  @Get()
  @Resilient('tenant')
  async show(): Promise<string> {
    return this.tenant.name()
  }
}

describe('@Resilient in request scope', () => {
  it('runs with the object of each request and with one breaker for all of them', async () => {
    const tenant = guard({ ...IMMEDIATE, breaker: { failureThreshold: 4 } })
    const { url } = await start({
      imports: [HoldfastModule.forRoot({ guards: { tenant } })],
      controllers: [TenantController],
      providers: [Tenant],
    })
    const names = await Promise.all(
      ['a', 'b'].map(async (name) => (await get(`${url}/tenant`, { headers: { tenant: name } })).body),
    )
    expect(names).toEqual(['a after 2', 'b after 2'])
    expect(tenant.breaker?.failureCount).toBe(2)
  })
})
