import { DEAD_LETTER_STATUSES } from '@holdfast/runtime'
import type { Clock } from 'holdfast'
import type { HoldfastLike } from '../runtime-api.js'
import { type EventCounters, MAX_POLICIES } from './event-counters.js'
import type { HistogramSample, MetricsReading, Sample } from './metrics.js'

/** How many operations with dead letters, pools and breakers have numbers of their own. */
const MAX_OPERATIONS = 100
const MAX_POOLS = 100
const MAX_BREAKERS = 500

const LEVEL_BY_STATE = { closed: 0, half_open: 1, open: 2 } as const
const STATES = ['closed', 'half_open', 'open'] as const
const STATUSES = ['available', 'open', 'half_open', 'resting', 'drained', 'disabled'] as const

type CounterValues = ReturnType<HoldfastLike['metrics']['counters']>
type DurationCounts = { bounds: readonly number[]; counts: ArrayLike<number>; sum: number }

/** What a runtime tells of its budgets. */
interface BudgetSource {
  budgets?(): Iterable<readonly [policyId: string, left: number]>
}

const histogram = (operation: string, { bounds, counts, sum }: DurationCounts): HistogramSample => ({
  labels: { operation },
  bounds: bounds.map((ms) => ms / 1000),
  counts,
  sum: sum / 1000,
})

function calls(operations: CounterValues['operations']): Sample[] {
  const samples: Sample[] = []
  for (const [operation, { succeeded, recovered, failed, exhausted }] of operations) {
    const add = (result: string, retried: string, value: number) =>
      samples.push({ labels: { operation, result, retried }, value })
    add('success', 'false', succeeded)
    add('success', 'true', recovered)
    add('failure', 'false', failed)
    add('failure', 'true', exhausted)
  }
  return samples
}

type Policies = Awaited<ReturnType<HoldfastLike['policies']['list']>>

/** Breakers of services and policies, one by one; those of pools' members are counted with their pools. */
async function states(hf: HoldfastLike, policies: Policies): Promise<Sample[]> {
  const ids = [
    ...Object.keys(hf.config.current.circuitBreakers ?? {}).map(
      (name) => `service:${encodeURIComponent(name)}`,
    ),
    ...policies
      .filter((policy) => policy.enableCircuitBreaker && !policy.circuitBreaker)
      .map((policy) => `policy:${encodeURIComponent(policy.id)}`),
  ]
  const found = await Promise.all(ids.slice(0, MAX_BREAKERS).map((id) => hf.breakers.get(id)))
  return found.flatMap((breaker) =>
    breaker === undefined ? [] : [{ labels: { id: breaker.id }, value: LEVEL_BY_STATE[breaker.state] }],
  )
}

/** What was counted, and `none` for what is known besides: a counter that begins with 1 has not risen. */
function* fromNone<T>(
  counted: Iterable<readonly [string, T]>,
  known: Iterable<string>,
  none: T,
  most: number,
): Iterable<readonly [string, T]> {
  const told = new Set<string>()
  for (const [name, value] of counted) {
    told.add(name)
    yield [name, value]
  }
  for (const name of known) {
    if (told.size >= most) return
    if (told.has(name)) continue
    told.add(name)
    yield [name, none]
  }
}

const UNCHANGED = { closed: 0, half_open: 0, open: 0 }

function* members(hf: HoldfastLike, pools: Awaited<ReturnType<HoldfastLike['pools']['list']>>) {
  for (const pool of pools.slice(0, MAX_POOLS)) {
    const counts = new Map<string, number>(STATUSES.map((status) => [status, 0]))
    for (const { id } of pool.members()) {
      const status = hf.pools.memberStatus(pool.id, id)
      counts.set(status, (counts.get(status) ?? 0) + 1)
    }
    yield { pool: pool.id, counts, size: pool.size }
  }
}

async function letters(hf: HoldfastLike, now: number): Promise<{ counts: Sample[]; oldest: number }> {
  const { byOperation, oldest } = await hf.deadLetters.stats()
  const sums = new Map<string, Record<(typeof DEAD_LETTER_STATUSES)[number], number>>()
  for (const [name, counts] of Object.entries(byOperation)) {
    const operation = sums.size < MAX_OPERATIONS ? name : 'other'
    const sum = sums.get(operation) ?? { pending: 0, replaying: 0, completed: 0, failed: 0 }
    for (const status of DEAD_LETTER_STATUSES) sum[status] += counts[status]
    sums.set(operation, sum)
  }
  return {
    counts: [...sums].flatMap(([operation, sum]) =>
      DEAD_LETTER_STATUSES.map((status) => ({ labels: { operation, status }, value: sum[status] })),
    ),
    oldest: oldest === undefined ? 0 : Math.max(0, (now - oldest.getTime()) / 1000),
  }
}

const one = (value: number): Sample[] => [{ labels: {}, value }]

/** What there is to tell of a fleet; nothing where there is none. */
function fleetOf(hf: HoldfastLike) {
  const status = hf.fleet?.status()
  const told = (value: number | undefined): Sample[] => (value === undefined ? [] : one(value))
  return {
    holdfast_shared_state_up: told(status && Number(status.up)),
    holdfast_shared_state_losses_total: told(status?.losses),
    holdfast_shared_state_commands_total: told(status?.commands),
    holdfast_fleet_nodes: told(status?.nodes),
    holdfast_fleet_events_dropped_total: told(status?.eventsDropped),
  }
}

/** Reads all metrics of a runtime. */
export async function readMetrics(
  hf: HoldfastLike,
  tallies: EventCounters,
  clock: Clock,
): Promise<MetricsReading> {
  const { operations, breakers } = hf.metrics.counters()
  const { counts, oldest } = await letters(hf, clock.wall())
  const pools = [...members(hf, await hf.pools.list())]
  const policies = await hf.policies.list()
  const standing = await states(hf, policies)
  const known = standing.map(({ labels }) => labels.id as string)
  const changes = [...fromNone(breakers, known, UNCHANGED, MAX_BREAKERS)].flatMap(([id, counted]) =>
    STATES.map((to) => ({ labels: { id, to }, value: counted[to] })),
  )
  const budgeted = policies.filter(({ budget }) => budget).map(({ id }) => id)
  return {
    numbers: {
      holdfast_calls_total: calls(operations),
      holdfast_retries_total: [...operations].map(([operation, { retries }]) => ({
        labels: { operation },
        value: retries,
      })),
      holdfast_circuit_breaker_state: standing,
      holdfast_circuit_breaker_transitions_total: changes,
      holdfast_pool_members: pools.flatMap(({ pool, counts: by }) =>
        [...by].map(([status, value]) => ({ labels: { pool, status }, value })),
      ),
      holdfast_pool_open_ratio: pools.map(({ pool, counts: by, size }) => ({
        labels: { pool },
        value: size === 0 ? 0 : ((by.get('open') ?? 0) + (by.get('half_open') ?? 0)) / size,
      })),
      holdfast_dead_letters: counts,
      holdfast_dead_letters_oldest_age_seconds: one(oldest),
      holdfast_retry_budget_left: [...((hf as BudgetSource).budgets?.() ?? [])].map(([policy, value]) => ({
        labels: { policy },
        value,
      })),
      holdfast_retry_budget_spent_total: [...fromNone(tallies.finalAttempts, budgeted, 0, MAX_POLICIES)].map(
        ([policy, value]) => ({ labels: { policy }, value }),
      ),
      holdfast_config_reloads_total: (['taken', 'rejected'] as const).map((result) => ({
        labels: { result },
        value: tallies.reloads[result],
      })),
      holdfast_events_dropped_total: one(tallies.dropped),
      ...fleetOf(hf),
      holdfast_event_loop_delay_seconds: tallies.eventLoopDelays().map(([percentile, value]) => ({
        labels: { percentile },
        value,
      })),
    },
    durations: {
      holdfast_call_duration_seconds: [...operations].map(([name, held]) => histogram(name, held.calls)),
      holdfast_attempt_duration_seconds: [...operations].map(([name, held]) =>
        histogram(name, held.attempts),
      ),
    },
  }
}
