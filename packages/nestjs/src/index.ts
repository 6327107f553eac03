/**
 * Guards and a runtime in applications of NestJS 11.
 *
 * @packageDocumentation
 */

export { HoldfastExceptionFilter } from './exception-filter.js'
export { HoldfastModule } from './module.js'
export type {
  GuardDefinition,
  GuardDefinitions,
  HoldfastModuleAsyncOptions,
  HoldfastModuleOptions,
  HoldfastOptionsFactory,
  OptionsFactoryFunction,
} from './options.js'
export { RequestSignal } from './request-signal.js'
export { Resilient, type ResilientDecorator, type ResilientOptions } from './resilient.js'
export { getGuardToken, HOLDFAST, InjectGuard, InjectHoldfast } from './tokens.js'
