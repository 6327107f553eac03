import { Inject, Injectable } from '@nestjs/common'
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus'
import { type BreakerState, HoldfastError, isHoldfastError } from 'holdfast'
import type { GuardRegistry } from '../guard-registry.js'
import { GUARD_REGISTRY } from '../tokens.js'

/** Options of {@link HoldfastHealthIndicator.checkBreakers}. */
export interface BreakerCheckOptions {
  /** The ids of the breakers that are checked. An id that does not exist is reported as missing. @defaultValue all breakers */
  readonly only?: readonly string[] | undefined
}

/** The common part of a breaker and of its record. */
interface BreakerStatus {
  readonly id: string
  readonly state: BreakerState
  readonly nextTestTime?: number | Date | null | undefined
}

/**
 * Health indicators of Terminus 11: one for breakers, one for the store of the runtime. Add it to the providers of the module with
 * the health controller.
 *
 * @example
 * ```ts
 * import { HoldfastModule } from '@holdfast/nestjs'
 * import { HoldfastHealthIndicator } from '@holdfast/nestjs/terminus'
 * import { TerminusModule } from '@nestjs/terminus'
 * import { Test } from '@nestjs/testing'
 *
 * const app = await Test.createTestingModule({
 *   imports: [HoldfastModule.forRoot({ guards: { mail: { breaker: { failureThreshold: 5 } } } }), TerminusModule],
 *   providers: [HoldfastHealthIndicator],
 * }).compile()
 * const health = app.get(HoldfastHealthIndicator)
 * await health.checkBreakers('breakers') // => { breakers: { status: 'up', open: [], halfOpen: [] } }
 * await app.close()
 * ```
 */
@Injectable()
export class HoldfastHealthIndicator {
  private readonly health: HealthIndicatorService
  private readonly registry: GuardRegistry

  /** Created by Nest. */
  constructor(
    @Inject(HealthIndicatorService) health: HealthIndicatorService,
    @Inject(GUARD_REGISTRY) registry: object,
  ) {
    this.health = health
    this.registry = registry as GuardRegistry
  }

  /**
   * Down while a breaker is open, with the ids of the breakers that are not closed. They are the breakers of the runtime and of
   * the guards of `HoldfastModule`. A breaker that admits its next call as a probe counts as half open, because a process that
   * receives no requests while it is down could never make that call.
   */
  async checkBreakers<Key extends string>(
    key: Key,
    { only }: BreakerCheckOptions = {},
  ): Promise<HealthIndicatorResult<Key>> {
    const breakers = await this.breakers(only)
    const inState = (state: BreakerState) =>
      breakers.flatMap((breaker) => (this.effectiveState(breaker) === state ? breaker.id : []))
    const missing = only?.filter((id) => !breakers.some((breaker) => breaker.id === id)) ?? []
    const details = {
      open: inState('open'),
      halfOpen: inState('half_open'),
      ...(missing.length > 0 && { missing }),
    }
    const session = this.health.check(key)
    return details.open.length > 0 || missing.length > 0 ? session.down(details) : session.up(details)
  }

  /**
   * Down if the store of the runtime cannot be read or the runtime is closed. The result has the kind of the store, the status of
   * the runtime and, if a read failed, the code of the error.
   *
   * @throws INVALID_OPTIONS if the module has no runtime
   */
  async checkStore<Key extends string>(key: Key): Promise<HealthIndicatorResult<Key>> {
    const { runtime } = this.registry
    if (runtime === undefined)
      throw new HoldfastError('INVALID_OPTIONS', 'checkStore: HoldfastModule has no runtime')
    const session = this.health.check(key)
    const details = { store: runtime.store.kind, runtime: (await runtime.health()).status }
    if (details.runtime === 'closed') return session.down(details)
    try {
      await runtime.store.values.get('health')
      return session.up(details)
    } catch (error) {
      // The message can contain addresses and paths.
      return session.down({ ...details, error: isHoldfastError(error) ? error.code : 'UNKNOWN' })
    }
  }

  /** The breakers with these ids, else all breakers that are not closed. */
  private async breakers(only: readonly string[] | undefined): Promise<BreakerStatus[]> {
    const { runtime } = this.registry
    const ids = only ?? [
      ...((await runtime?.breakers.ids({ state: 'open' })) ?? []),
      ...((await runtime?.breakers.ids({ state: 'half_open' })) ?? []),
    ]
    const ofRuntime = await Promise.all(ids.map(async (id) => runtime?.breakers.get(id)))
    const ofGuards = [...this.registry.defined()].flatMap(([, guard]) => [
      ...(guard.breaker === undefined ? [] : [guard.breaker]),
      ...(guard.breakers?.values() ?? []),
    ])
    return [
      ...ofRuntime.filter((breaker) => breaker !== undefined),
      ...ofGuards.filter(({ id }) => only === undefined || only.includes(id)),
    ]
  }

  private effectiveState({ state, nextTestTime }: BreakerStatus): BreakerState {
    const isProbeDue = nextTestTime != null && Number(nextTestTime) <= this.registry.clock.wall()
    return state === 'open' && isProbeDue ? 'half_open' : state
  }
}
