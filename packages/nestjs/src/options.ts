import type { Holdfast, OpenOptions } from '@holdfast/runtime'
import type { InjectionToken, ModuleMetadata, OptionalFactoryDependency, Type } from '@nestjs/common'
import type { Clock, Guard, GuardOptions } from 'holdfast'

/** A guard, or the options of one that the module creates. */
// oxlint-disable-next-line typescript/no-explicit-any -- a guard with any pool and any fallback
export type GuardDefinition = Guard<any, unknown> | GuardOptions<unknown>

/** Guards by name. */
export interface GuardDefinitions {
  readonly [name: string]: GuardDefinition
}

/** Options of `HoldfastModule.forRoot`. */
export interface HoldfastModuleOptions {
  /**
   * Opens a runtime when the application starts: the path of a config file, or options of `Holdfast.open`. Needs the package
   * `@holdfast/runtime`.
   */
  readonly open?: string | OpenOptions | undefined
  /** A runtime that is already open. */
  readonly runtime?: Holdfast | undefined
  /** Whether the runtime is closed when the application shuts down. @defaultValue true */
  readonly closeRuntime?: boolean | undefined
  /**
   * Guards that `@Resilient` and `@InjectGuard` find by their name. With a runtime, the calls of guards that the module creates
   * are recorded by it.
   */
  readonly guards?: GuardDefinitions | undefined
  /** The clock of these guards and of health checks. @defaultValue that of `open`, else the system clock */
  readonly clock?: Clock | undefined
}

/** A provider that creates the options of the module, for `useClass` and `useExisting`. */
export interface HoldfastOptionsFactory {
  /** Returns the options. */
  createHoldfastOptions(): HoldfastModuleOptions | Promise<HoldfastModuleOptions>
}

/** Returns the options of the module. Its parameters are the injected providers. */
export type OptionsFactoryFunction = (
  // oxlint-disable-next-line typescript/no-explicit-any -- their types are those of the application
  ...args: any[]
) => HoldfastModuleOptions | Promise<HoldfastModuleOptions>

/** Options of `HoldfastModule.forRootAsync`: one of `useFactory`, `useClass` and `useExisting`. */
export interface HoldfastModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** Returns the options. */
  readonly useFactory?: OptionsFactoryFunction | undefined
  /** The providers that `useFactory` receives. */
  readonly inject?: (InjectionToken | OptionalFactoryDependency)[] | undefined
  /** A class that creates the options. The module creates an instance of it. */
  readonly useClass?: Type<HoldfastOptionsFactory> | undefined
  /** The token of a provider that creates the options. */
  readonly useExisting?: InjectionToken | undefined
}
