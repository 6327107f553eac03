import { Holdfast } from '@holdfast/runtime'
import { Controller, Get, Injectable, Module } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import { type Guard, guard } from 'holdfast'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  getGuardToken,
  HOLDFAST,
  HoldfastModule,
  type HoldfastModuleOptions,
  type HoldfastOptionsFactory,
  InjectGuard,
  InjectHoldfast,
  Resilient,
} from '../src/index.js'
import { deferred, start } from './http.js'

@Injectable()
class Consumer {
  constructor(
    @InjectHoldfast() readonly hf: Holdfast,
    @InjectGuard('prices') readonly prices: Guard,
  ) {}
}

@Injectable()
class PropertyConsumer {
  @InjectGuard('prices') readonly prices!: Guard
}

const compile = async (
  ...imports: NonNullable<Parameters<typeof Test.createTestingModule>[0]['imports']>
) => {
  const app = await Test.createTestingModule({ imports }).compile()
  onTestFinished(() => app.close())
  return app
}

const statusOf = async (hf: Holdfast) => (await hf.health()).status

describe('HoldfastModule.forRoot', () => {
  it('opens a runtime, injects it everywhere and closes it at shutdown', async () => {
    @Module({ providers: [Consumer, PropertyConsumer], exports: [Consumer, PropertyConsumer] })
    class FeatureModule {}
    const app = await compile(
      HoldfastModule.forRoot({ open: { config: {} }, guards: { prices: { retry: false } } }),
      FeatureModule,
    )
    const { hf, prices } = app.get(Consumer)
    expect(await statusOf(hf)).toBe('ok')
    expect(await prices.run(() => 42)).toBe(42)
    expect(app.get(PropertyConsumer).prices).toBe(prices)
    expect(app.get(HOLDFAST)).toBe(hf)
    await app.close()
    expect(await statusOf(hf)).toBe('closed')
  })

  it('closes the runtime after the active requests are answered', async () => {
    const hf = await Holdfast.open({ config: {} })
    const entered = deferred<void>()
    const release = deferred<void>()
    const statuses: string[] = []

    @Controller()
    class SlowController {
      @Get()
      @Resilient('slow')
      async slow(): Promise<string> {
        entered.resolve()
        await release.promise
        statuses.push(await statusOf(hf))
        return 'done'
      }
    }

    const { app, url } = await start({
      imports: [HoldfastModule.forRoot({ runtime: hf })],
      controllers: [SlowController],
    })
    const answer = fetch(url, { headers: { connection: 'close' } })
    await entered.promise
    const closed = app.close()
    release.resolve()
    expect(await (await answer).text()).toBe('done')
    await closed
    expect(statuses).toEqual(['ok'])
    expect(await statusOf(hf)).toBe('closed')
  })

  it('does not close the runtime with closeRuntime: false', async () => {
    const hf = await Holdfast.open({ config: {} })
    onTestFinished(() => hf.close())
    const app = await compile(HoldfastModule.forRoot({ runtime: hf, closeRuntime: false }))
    await app.close()
    expect(await statusOf(hf)).toBe('ok')
  })

  it.each<[string, HoldfastModuleOptions, string]>([
    ['both open and runtime', { open: {}, runtime: {} as Holdfast }, 'expected open or runtime, got both'],
    ['an invalid guard', { guards: { prices: { retry: { maxAttempts: -1 } } } }, 'maxAttempts'],
    ['an invalid configuration', { open: { config: { unknown: 1 } } }, 'unknown'],
  ])('fails the start with %s', async (_, options, message) => {
    await expect(compile(HoldfastModule.forRoot(options))).rejects.toThrow(message)
  })

  it.each(['forRoot', 'forFeature'])(
    'closes the runtime that it has opened if a guard of %s is invalid',
    async (place) => {
      const opened = vi.spyOn(Holdfast, 'open')
      onTestFinished(() => opened.mockRestore())
      const guards = { prices: { retry: { maxAttempts: -1 } } }
      const open = { config: {} }
      const started =
        place === 'forRoot'
          ? compile(HoldfastModule.forRoot({ open, guards }))
          : compile(HoldfastModule.forRoot({ open }), HoldfastModule.forFeature(guards))
      await expect(started).rejects.toThrow('maxAttempts')
      expect(await statusOf(await opened.mock.results[0]?.value)).toBe('closed')
    },
  )

  it('does not close a runtime that was passed to it if a guard is invalid', async () => {
    const runtime = await Holdfast.open({ config: {} })
    onTestFinished(() => runtime.close())
    const guards = { prices: { retry: { maxAttempts: -1 } } }
    await expect(
      compile(HoldfastModule.forRoot({ runtime }), HoldfastModule.forFeature(guards)),
    ).rejects.toThrow('maxAttempts')
    expect(await statusOf(runtime)).toBe('ok')
  })

  it('fails the start if a guard is injected that does not exist', async () => {
    const created = Test.createTestingModule({
      imports: [HoldfastModule.forRoot({ open: { config: {} } })],
      providers: [Consumer],
    }).compile()
    await expect(created).rejects.toThrow(/HOLDFAST_GUARD\(prices\)/)
  })

  it('lets a test replace a guard', async () => {
    const replaced = guard({ name: 'replaced' })
    const app = await Test.createTestingModule({
      imports: [HoldfastModule.forRoot({ guards: { prices: {} } })],
      providers: [PropertyConsumer],
    })
      .overrideProvider(getGuardToken('prices'))
      .useValue(replaced)
      .compile()
    expect(app.get(PropertyConsumer).prices).toBe(replaced)
    await app.close()
  })
})

@Injectable()
class Settings implements HoldfastOptionsFactory {
  createHoldfastOptions(): HoldfastModuleOptions {
    return { guards: { prices: { name: 'from settings' } } }
  }
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

const nameOfPrices = async (root: Parameters<typeof HoldfastModule.forRootAsync>[0]) => {
  const app = await compile(HoldfastModule.forRootAsync(root), HoldfastModule.forFeature(['prices']))
  return app.get<Guard>(getGuardToken('prices')).name
}

describe('HoldfastModule.forRootAsync', () => {
  it('takes the options from a factory with injected providers', async () => {
    const useFactory = async (settings: Settings) => settings.createHoldfastOptions()
    expect(await nameOfPrices({ imports: [SettingsModule], inject: [Settings], useFactory })).toBe(
      'from settings',
    )
  })

  it('takes the options from a class and from an existing provider', async () => {
    expect(await nameOfPrices({ useClass: Settings })).toBe('from settings')
    expect(await nameOfPrices({ imports: [SettingsModule], useExisting: Settings })).toBe('from settings')
  })

  it('opens the runtime of the options and closes it', async () => {
    const app = await compile(HoldfastModule.forRootAsync({ useFactory: () => ({ open: { config: {} } }) }))
    const hf = app.get<Holdfast>(HOLDFAST)
    expect(await statusOf(hf)).toBe('ok')
    await app.close()
    expect(await statusOf(hf)).toBe('closed')
  })

  it('rejects options without or with several ways to create them', () => {
    const message = 'expected one of useFactory, useClass and useExisting, got'
    expect(() => HoldfastModule.forRootAsync({})).toThrow(`${message} 0`)
    expect(() => HoldfastModule.forRootAsync({ useClass: Settings, useFactory: () => ({}) })).toThrow(
      `${message} 2`,
    )
  })
})

describe('HoldfastModule.forFeature', () => {
  it('defines guards that @InjectGuard and @Resilient find', async () => {
    @Injectable()
    class Prices {
      constructor(@InjectGuard('prices') readonly guard: Guard) {}

      @Resilient('prices')
      async load(): Promise<number> {
        return 42
      }
    }
    @Module({ imports: [HoldfastModule.forFeature({ prices: { retry: false } })], providers: [Prices] })
    class PricesModule {}
    const app = await compile(HoldfastModule.forRoot(), PricesModule)
    const prices = app.get(Prices, { strict: false })
    expect(prices.guard.name).toBe('prices')
    expect(await prices.load()).toBe(42)
  })

  it('offers operations of the runtime as guards', async () => {
    const app = await compile(
      HoldfastModule.forRoot({ open: { config: { policies: { mail: { maxAttempts: 1 } } } } }),
      HoldfastModule.forFeature(['mail']),
    )
    const mail = app.get<Guard>(getGuardToken('mail'))
    await expect(mail.run(() => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
    const { items } = await app.get<Holdfast>(HOLDFAST).sessions.list()
    expect(items.map(({ operation, totalAttempts }) => [operation, totalAttempts])).toEqual([['mail', 1]])
  })

  it('can be imported twice with the same definitions, but not with others of the same name', async () => {
    const prices = { retry: false } as const
    @Module({ imports: [HoldfastModule.forFeature({ prices })] })
    class First {}
    @Module({ imports: [HoldfastModule.forFeature({ prices })] })
    class Second {}
    @Module({ imports: [HoldfastModule.forFeature({ prices: { timeout: { total: 1000 } } })] })
    class Other {}
    await compile(HoldfastModule.forRoot(), First, Second)
    await expect(compile(HoldfastModule.forRoot(), First, Other)).rejects.toThrow(
      'the guard "prices" is defined twice',
    )
  })
})
