import type { DiskFault } from '../disk/simulated-disk.js'
import type { PostgresFault, RedisFault, RedisLoss } from '../substitutes/index.js'
import type { BreakerKind } from './breaker-kinds.js'

/**
 * The time of one simulation: faults happen until `FAULTS_END_MS`, and calls until `CALLS_END_MS`. After an hour each node shows that it
 * can still do everything.
 */
export const FAULTS_END_MS = 2_400_000
export const CALLS_END_MS = 3_480_000
export const DRILL_START_MS = 3_600_000
export const DURATION_MS = 4_080_000

/** The operations of the workload. Each has a policy, a breaker and an upstream of the same name; `report` has no timeout. */
export const OPERATIONS = ['mail', 'search', 'billing', 'report'] as const

/** The operation whose calls use the pool. Its policy has no breaker: each member of the pool has one. */
export const POOL_OPERATION = 'crawl'

/** The pool of the workload, and its members. Each member is an upstream of its own. */
export const POOL = 'proxies'
export const MEMBERS = ['m0', 'm1', 'm2', 'm3'] as const
export type MemberId = (typeof MEMBERS)[number]

export type Operation = (typeof OPERATIONS)[number] | typeof POOL_OPERATION

/** All operations. */
export const ALL_OPERATIONS: readonly Operation[] = [...OPERATIONS, POOL_OPERATION]

/** How the nodes share the breakers of the pool's members. */
export const POOL_SHARES = ['none', 'state', 'counts', 'quorum'] as const

/** One attempt of a call or a handler: how long it takes, and whether it fails even if its upstream is available. */
export interface PlannedAttempt {
  readonly ms: number
  readonly fails: boolean
  /** Whether it continues after its signal was aborted, as code without support for signals does. Handlers do not. */
  readonly ignoresSignal?: boolean
  /** The attempt is rejected with a rate limit (429), and its member requests a cooldown of this many milliseconds. */
  readonly limitMs?: number
}

/** A live change of a member of the pool. `restore` adds or enables it if that is necessary. */
export const MEMBER_CHANGES = ['drain', 'disable', 'enable', 'remove', 'add', 'replace', 'restore'] as const
export type MemberChange = (typeof MEMBER_CHANGES)[number]

/** An action of the workload on one node. */
export interface PlannedCall {
  readonly at: number
  readonly node: number
  readonly action:
    | 'run'
    | 'enqueue'
    | 'replay'
    | 'replayBatch'
    | 'complete'
    | 'trip'
    | 'reset'
    | 'request'
    | 'member'
  readonly operation: Operation
  /** The attempts of a run, in order; the last one repeats. */
  readonly attempts: readonly PlannedAttempt[]
  /**
   * Which of the known dead letters an action is about: a fraction of their number. For a run: whether and when its caller aborts it.
   */
  readonly target: number
  /** Whether a batch replays failed entries, too. */
  readonly retryFailed?: boolean
  /** The live change that the action `member` makes. */
  readonly change?: MemberChange
  /** The member that a change, a trip or a reset is about. A change without one is about the member of a running attempt. */
  readonly member?: MemberId
}

/** The servers that nodes talk to. */
export type Server = 'store' | 'redis'

/** What a crash at a commit ends. The machine loses everything that was not flushed. */
export const CRASH_TARGETS = ['thread', 'process', 'machine'] as const
type CrashTarget = (typeof CRASH_TARGETS)[number]

/** A state in which statements fail: with IOERR, with FULL, or with BUSY because another process holds the lock. */
export const SQLITE_FAULTS = ['error', 'flaky', 'full', 'locked'] as const
export type SqliteFault = (typeof SQLITE_FAULTS)[number]

/** A failure, as plain data, so that a failing scenario can be reduced and printed. */
export type Fault = { readonly at: number } & (
  | { readonly kind: 'crash'; readonly node: number; readonly downMs: number }
  /** The process ends before a microtask of it: the first one after `at` has number 1. */
  | {
      readonly kind: 'await_crash'
      readonly node: number
      readonly microtask: number
      /** Whether the disk of the node loses everything that was not flushed. */
      readonly isPowerFailure: boolean
      readonly downMs: number
    }
  | { readonly kind: 'restart'; readonly node: number; readonly downMs: number }
  | { readonly kind: 'power_failure'; readonly node: number; readonly downMs: number }
  /** The disk acknowledges flushes without making them, and loses its power after `ms`. */
  | { readonly kind: 'lying_disk'; readonly node: number; readonly ms: number; readonly downMs: number }
  | { readonly kind: 'disk_fault'; readonly node: number; readonly fault: DiskFault; readonly ms: number }
  /** Statements of the SQLite store of a node fail. */
  | { readonly kind: 'sqlite_fault'; readonly node: number; readonly fault: SqliteFault; readonly ms: number }
  /** A thread, a process or a machine ends at a commit to the SQLite file: the first one after `at` has number 1. */
  | {
      readonly kind: 'commit_crash'
      readonly node: number
      readonly commit: number
      readonly isBefore: boolean
      readonly target: CrashTarget
      readonly downMs: number
    }
  | { readonly kind: 'partition'; readonly node: number; readonly server: Server; readonly ms: number }
  | { readonly kind: 'reset'; readonly node: number; readonly server: Server }
  | {
      readonly kind: 'slow'
      readonly node: number
      readonly server: Server
      readonly ms: number
      readonly delay: number
    }
  | { readonly kind: 'duplicate'; readonly node: number; readonly server: Server; readonly ms: number }
  | {
      readonly kind: 'loss'
      readonly node: number
      readonly server: Server
      readonly ms: number
      /** The probability that a packet is lost. */
      readonly losses: number
    }
  | {
      readonly kind: 'lost_reply'
      readonly node: number
      readonly server: Server
      readonly ms: number
      /** The probability that the connection breaks after a request was executed, and before its reply. */
      readonly losses: number
    }
  | { readonly kind: 'server_down'; readonly server: Server; readonly ms: number }
  | { readonly kind: 'server_crash'; readonly server: Server; readonly loss: RedisLoss }
  | { readonly kind: 'store_fault'; readonly fault: PostgresFault; readonly ms: number }
  | { readonly kind: 'redis_fault'; readonly fault: RedisFault; readonly ms: number }
  | { readonly kind: 'upstream_down'; readonly operation: Operation | MemberId; readonly ms: number }
  | { readonly kind: 'clock_step'; readonly node: number; readonly step: number; readonly ms: number }
  | { readonly kind: 'clock_drift'; readonly node: number; readonly rate: number; readonly ms: number }
)

/** The kind of a fault, and which of several failures of a server or a disk it is. */
export const faultKind = (fault: Fault): string =>
  'fault' in fault ? `${fault.kind} ${fault.fault}` : fault.kind

/** Everything that a simulation does. The delays of single packets come from the seed as well. */
export interface Scenario {
  readonly seed: number
  readonly nodes: number
  /** The nodes that have a store of their own on a simulated disk. */
  readonly diskNodes: readonly number[]
  /** The nodes that have a SQLite file of their own. */
  readonly sqliteNodes: readonly number[]
  /** Whether the nodes with PostgreSQL have a disk fallback for dead letters that it does not accept. */
  readonly hasDiskFallback: boolean
  /** How the nodes share the breakers of the pool's members. */
  readonly poolShare: (typeof POOL_SHARES)[number]
  /** Whether the breakers are restored after a restart (`persist_state`). */
  readonly persists: boolean
  /** The settings of the breakers of the operations and of the pool. Without them all have rolling windows. */
  readonly breakerKinds?: readonly BreakerKind[]
  readonly calls: readonly PlannedCall[]
  readonly faults: readonly Fault[]
}
