import { Inject } from '@nestjs/common'

// Strings, so that an error of Nest names them and so that both module formats of this package have the same tokens.

/** The token of the runtime, for `overrideProvider` and `app.get`. `@InjectHoldfast()` injects it. */
export const HOLDFAST = 'HOLDFAST'

/** The token of the registry of guards, which `@Resilient` uses. */
export const GUARD_REGISTRY = 'HOLDFAST_GUARDS'

/** The token of the options of the module. */
export const MODULE_OPTIONS = 'HOLDFAST_OPTIONS'

/**
 * The token of a guard, for `overrideProvider` and `app.get`. `@InjectGuard(name)` injects it.
 *
 * @example
 * ```ts
 * import { getGuardToken, HoldfastModule } from '@holdfast/nestjs'
 * import { Test } from '@nestjs/testing'
 * import type { Guard } from 'holdfast'
 *
 * const app = await Test.createTestingModule({
 *   imports: [HoldfastModule.forRoot({ guards: { prices: { retry: { maxAttempts: 2 } } } })],
 * }).compile()
 * const prices = app.get<Guard>(getGuardToken('prices'))
 * await prices.run(() => 42) // => 42
 * await app.close()
 * ```
 */
export const getGuardToken = (name: string): string => `HOLDFAST_GUARD(${name})`

/**
 * Injects the runtime of the module: `constructor(@InjectHoldfast() private readonly hf: Holdfast)`.
 *
 * @example
 * ```ts
 * import { HoldfastModule, InjectHoldfast } from '@holdfast/nestjs'
 * import type { Holdfast } from '@holdfast/runtime'
 * import { Injectable } from '@nestjs/common'
 * import { Test } from '@nestjs/testing'
 *
 * @Injectable()
 * class Orders {
 *   constructor(@InjectHoldfast() readonly hf: Holdfast) {}
 * }
 *
 * const app = await Test.createTestingModule({
 *   imports: [HoldfastModule.forRoot({ open: { config: {} } })],
 *   providers: [Orders],
 * }).compile()
 * await app.get(Orders).hf.run('orders.save', () => 'saved') // => 'saved'
 * await app.close()
 * ```
 */
export const InjectHoldfast = (): PropertyDecorator & ParameterDecorator => Inject(HOLDFAST)

/**
 * Injects a guard of `HoldfastModule.forRoot({ guards })` or `HoldfastModule.forFeature`.
 *
 * @example
 * ```ts
 * import { HoldfastModule, InjectGuard } from '@holdfast/nestjs'
 * import { Injectable } from '@nestjs/common'
 * import { Test } from '@nestjs/testing'
 * import type { Guard } from 'holdfast'
 *
 * @Injectable()
 * class Prices {
 *   constructor(@InjectGuard('prices') readonly guard: Guard) {}
 * }
 *
 * const app = await Test.createTestingModule({
 *   imports: [HoldfastModule.forRoot({ guards: { prices: { timeout: { total: '2s' } } } })],
 *   providers: [Prices],
 * }).compile()
 * await app.get(Prices).guard.run(() => 42) // => 42
 * await app.close()
 * ```
 */
export const InjectGuard = (name: string): PropertyDecorator & ParameterDecorator =>
  Inject(getGuardToken(name))
