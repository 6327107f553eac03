import type { Holdfast } from '@holdfast/runtime'
import {
  type DynamicModule,
  type FactoryProvider,
  Inject,
  Injectable,
  Module,
  type OnApplicationShutdown,
  type Provider,
} from '@nestjs/common'
import { HoldfastError } from 'holdfast'
import { GuardRegistry } from './guard-registry.js'
import type {
  GuardDefinitions,
  HoldfastModuleAsyncOptions,
  HoldfastModuleOptions,
  HoldfastOptionsFactory,
} from './options.js'
import { GUARD_REGISTRY, getGuardToken, HOLDFAST, MODULE_OPTIONS } from './tokens.js'

/** Closes the runtime after the application has stopped accepting requests and has answered the active ones. */
@Injectable()
class RuntimeShutdown implements OnApplicationShutdown {
  private readonly runtime: Holdfast | undefined
  private readonly options: HoldfastModuleOptions

  constructor(
    @Inject(HOLDFAST) runtime: Holdfast | undefined,
    @Inject(MODULE_OPTIONS) options: HoldfastModuleOptions,
  ) {
    this.runtime = runtime
    this.options = options
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.options.closeRuntime !== false) await this.runtime?.close()
  }
}

/** @throws INVALID_OPTIONS if both ways to get a runtime are used, or its package is not installed */
async function openRuntime({ open, runtime }: HoldfastModuleOptions): Promise<Holdfast | undefined> {
  if (open === undefined) return runtime
  if (runtime !== undefined)
    throw new HoldfastError('INVALID_OPTIONS', 'HoldfastModule: expected open or runtime, got both')
  const { Holdfast: Runtime } = await import('@holdfast/runtime').catch((error: unknown) => {
    throw new HoldfastError('INVALID_OPTIONS', 'HoldfastModule: open needs the package @holdfast/runtime', {
      cause: error,
    })
  })
  return Runtime.open(open)
}

/**
 * Creates a part of the module, and closes the runtime that the module has opened if that fails: Nest does not call the shutdown
 * hooks of an application that has not started.
 */
async function closeOnError<T>(ownRuntime: Holdfast | undefined, create: () => T): Promise<T> {
  try {
    return create()
  } catch (error) {
    await ownRuntime?.close()
    throw error
  }
}

const createRegistry = (
  runtime: Holdfast | undefined,
  options: HoldfastModuleOptions,
): Promise<GuardRegistry> =>
  closeOnError(options.open === undefined ? undefined : runtime, () => new GuardRegistry(runtime, options))

const guardProvider = (name: string, definitions?: GuardDefinitions): FactoryProvider => ({
  provide: getGuardToken(name),
  inject: [GUARD_REGISTRY],
  useFactory: (registry: GuardRegistry) =>
    closeOnError(registry.ownRuntime, () => {
      const definition = definitions?.[name]
      return definition === undefined ? registry.get(name) : registry.define(name, definition)
    }),
})

/** The global module: runtime, registry, and the guards whose names are known. */
function rootModule(
  imports: HoldfastModuleAsyncOptions['imports'],
  optionProviders: Provider[],
  guardNames: string[],
): DynamicModule {
  const guards = guardNames.map((name) => guardProvider(name))
  return {
    module: HoldfastModule,
    global: true,
    ...(imports && { imports }),
    providers: [
      ...optionProviders,
      { provide: HOLDFAST, inject: [MODULE_OPTIONS], useFactory: openRuntime },
      {
        provide: GUARD_REGISTRY,
        inject: [HOLDFAST, MODULE_OPTIONS],
        useFactory: createRegistry,
      },
      RuntimeShutdown,
      ...guards,
    ],
    exports: [HOLDFAST, GUARD_REGISTRY, ...guardNames.map(getGuardToken)],
  }
}

function optionProvidersOf(options: HoldfastModuleAsyncOptions): Provider[] {
  const { useFactory, useClass, useExisting, inject = [] } = options
  const ways = [useFactory, useClass, useExisting].filter((way) => way !== undefined)
  if (ways.length !== 1)
    throw new HoldfastError(
      'INVALID_OPTIONS',
      `HoldfastModule.forRootAsync: expected one of useFactory, useClass and useExisting, got ${ways.length}`,
    )
  if (useFactory !== undefined) return [{ provide: MODULE_OPTIONS, useFactory, inject }]
  const token = useExisting ?? (useClass as NonNullable<typeof useClass>)
  return [
    ...(useClass === undefined ? [] : [useClass]),
    {
      provide: MODULE_OPTIONS,
      inject: [token],
      useFactory: (factory: HoldfastOptionsFactory) => factory.createHoldfastOptions(),
    },
  ]
}

/**
 * The module of a NestJS application: its runtime and its guards.
 *
 * @example
 * ```ts
 * import { HoldfastModule, Resilient } from '@holdfast/nestjs'
 * import { Injectable, Module } from '@nestjs/common'
 * import { NestFactory } from '@nestjs/core'
 *
 * @Injectable()
 * class Prices {
 *   calls = 0
 *
 *   @Resilient('prices')
 *   async load(item: string): Promise<string> {
 *     if (++this.calls < 3) throw new Error('connection lost')
 *     return `price of ${item}`
 *   }
 * }
 *
 * @Module({
 *   imports: [HoldfastModule.forRoot({ guards: { prices: { retry: { backoffType: 'immediate' } } } })],
 *   providers: [Prices],
 * })
 * class AppModule {}
 *
 * const app = await NestFactory.createApplicationContext(AppModule, { logger: false })
 * await app.get(Prices).load('tea') // => 'price of tea'
 * await app.close()
 * ```
 */
@Module({})
export class HoldfastModule {
  /**
   * The global module of an application. Import it once, in the root module.
   *
   * @throws INVALID_OPTIONS or CONFIG_INVALID when the application starts
   */
  static forRoot(options: HoldfastModuleOptions = {}): DynamicModule {
    const provider = { provide: MODULE_OPTIONS, useValue: options }
    return rootModule(undefined, [provider], Object.keys(options.guards ?? {}))
  }

  /**
   * The same with options that other providers determine. `@InjectGuard` finds a guard of these options if `forFeature` lists its
   * name.
   */
  static forRootAsync(options: HoldfastModuleAsyncOptions): DynamicModule {
    return rootModule(options.imports, optionProvidersOf(options), [])
  }

  /**
   * Guards for the module that imports it: an object defines guards, an array lists names of guards that are defined in the root
   * module or of operations of the runtime.
   */
  static forFeature(guards: GuardDefinitions | readonly string[]): DynamicModule {
    const providers = Array.isArray(guards)
      ? (guards as readonly string[]).map((name) => guardProvider(name))
      : Object.keys(guards).map((name) => guardProvider(name, guards as GuardDefinitions))
    return { module: HoldfastModule, providers, exports: providers.map(({ provide }) => provide) }
  }
}
