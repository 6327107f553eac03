import { DEAD_LETTER_STATUSES } from '@holdfast/records'
import type { BreakerState, Clock } from 'holdfast'
import { countMembers, MEMBER_STATUSES } from '../pools/member-status.js'
import { type EventCounters, MAX_POLICIES } from './event-counters.js'
import type { HistogramSample, MetricsReading, Sample } from './metrics.js'
import type { MetricsSource } from './source.js'

/** How many operations with dead letters, pools and breakers have their own series. */
const MAX_OPERATIONS = 100
const MAX_POOLS = 100
const MAX_BREAKERS = 500

const LEVEL_BY_STATE = { closed: 0, half_open: 1, open: 2 } as const satisfies Record<BreakerState, number>
const STATES = Object.keys(LEVEL_BY_STATE) as BreakerState[]

type CounterValues = ReturnType<MetricsSource['metrics']['counters']>
type DurationCounts = { bounds: readonly number[]; counts: ArrayLike<number>; sum: number }

const histogram = (operation: string, { bounds, counts, sum }: DurationCounts): HistogramSample => ({
  labels: { operation },
  bounds: bounds.map((ms) => ms / 1000),
  // The counters go on counting while the reading is formatted.
  counts: Array.from(counts),
  sum: sum / 1000,
})

function callSamples(operations: CounterValues['operations']): Sample[] {
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

type Policies = Awaited<ReturnType<MetricsSource['policies']['list']>>

/** The states of the breakers of services and policies. Breakers of pool members are counted with their pools. */
async function breakerStates(hf: MetricsSource, policies: Policies): Promise<Sample[]> {
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

/** Adds zero entries for known names without a count, because a counter that begins with 1 shows no increase. */
function* withZeros<T>(
  counted: Iterable<readonly [string, T]>,
  known: Iterable<string>,
  zero: T,
  limit: number,
): Iterable<readonly [string, T]> {
  const names = new Set<string>()
  for (const [name, value] of counted) {
    names.add(name)
    yield [name, value]
  }
  for (const name of known) {
    if (names.size >= limit) return
    if (names.has(name)) continue
    names.add(name)
    yield [name, zero]
  }
}

const NO_MEMBERS = Object.fromEntries(MEMBER_STATUSES.map((status) => [status, 0]))

const NO_CHANGES = { closed: 0, half_open: 0, open: 0 }

/** The members of each pool by status, with zeros. */
async function memberCounts(hf: MetricsSource) {
  const ids = (await hf.pools.list()).slice(0, MAX_POOLS).map(({ id }) => id)
  const result: { pool: string; counts: Record<string, number>; size: number }[] = []
  for (const pool of ids) {
    const found = await countMembers(hf.pools, pool)
    if (found === undefined) continue
    const { size, byStatus } = found
    result.push({ pool, size, counts: { ...NO_MEMBERS, ...byStatus } })
  }
  return result
}

async function deadLetterSamples(
  hf: MetricsSource,
  now: number,
): Promise<{ counts: Sample[]; oldest: number }> {
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

const unlabelled = (value: number): Sample[] => [{ labels: {}, value }]

/** The metrics of the fleet; without a fleet they have no samples. */
function fleetSamples(hf: MetricsSource) {
  const status = hf.fleet?.status()
  const sample = (value: number | undefined): Sample[] => (value === undefined ? [] : unlabelled(value))
  return {
    holdfast_shared_state_up: sample(status && Number(status.up)),
    holdfast_shared_state_losses_total: sample(status?.losses),
    holdfast_shared_state_commands_total: sample(status?.commands),
    holdfast_fleet_nodes: sample(status?.nodes),
    holdfast_fleet_events_dropped_total: sample(status?.eventsDropped),
  }
}

/** Reads all metrics of a runtime. */
export async function readMetrics(
  hf: MetricsSource,
  counters: EventCounters,
  clock: Clock,
): Promise<MetricsReading> {
  const { operations, breakers } = hf.metrics.counters()
  const { counts, oldest } = await deadLetterSamples(hf, clock.wall())
  const pools = await memberCounts(hf)
  const policies = await hf.policies.list()
  const states = await breakerStates(hf, policies)
  const known = states.map(({ labels }) => labels.id as string)
  const changes = [...withZeros(breakers, known, NO_CHANGES, MAX_BREAKERS)].flatMap(([id, counted]) =>
    STATES.map((to) => ({ labels: { id, to }, value: counted[to] })),
  )
  const budgeted = policies.filter(({ budget }) => budget).map(({ id }) => id)
  return {
    numbers: {
      holdfast_calls_total: callSamples(operations),
      holdfast_retries_total: [...operations].map(([operation, { retries }]) => ({
        labels: { operation },
        value: retries,
      })),
      holdfast_rejections_total: [...operations].flatMap(([operation, { rejections }]) =>
        [...rejections].map(([reason, value]) => ({ labels: { operation, reason }, value })),
      ),
      holdfast_circuit_breaker_state: states,
      holdfast_circuit_breaker_transitions_total: changes,
      holdfast_pool_members: pools.flatMap(({ pool, counts: by }) =>
        Object.entries(by).map(([status, value]) => ({ labels: { pool, status }, value })),
      ),
      holdfast_pool_open_ratio: pools.map(({ pool, counts: by, size }) => ({
        labels: { pool },
        value: size === 0 ? 0 : ((by['open'] ?? 0) + (by['half_open'] ?? 0)) / size,
      })),
      holdfast_dead_letters: counts,
      holdfast_dead_letters_oldest_age_seconds: unlabelled(oldest),
      holdfast_retry_budget_left: [...(hf.budgets?.() ?? [])].map(([policy, value]) => ({
        labels: { policy },
        value,
      })),
      holdfast_retry_budget_spent_total: [
        ...withZeros(counters.finalAttempts, budgeted, 0, MAX_POLICIES),
      ].map(([policy, value]) => ({ labels: { policy }, value })),
      holdfast_config_reloads_total: (['taken', 'rejected'] as const).map((result) => ({
        labels: { result },
        value: counters.reloads[result],
      })),
      holdfast_events_dropped_total: unlabelled(counters.dropped),
      ...fleetSamples(hf),
      holdfast_event_loop_delay_seconds: counters.eventLoopDelays().map(([percentile, value]) => ({
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
