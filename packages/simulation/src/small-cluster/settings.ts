import type { Choices } from '../engine/seeded-random.js'
import type { StoreTraits } from './store-port.js'

/** Faults of calls happen until this time. The rest of the time all work must be finished. */
export const FAULTS_END_MS = 650_000
export const DRAIN_AT_MS = 1_010_000
export const END_MS = 1_075_000

/** Longer than one lease, so that a lease is renewed several times. */
export const LONGEST_HANDLER_MS = 350_000

/** The operations with dead letters. Entries of `guarded` wait while its breaker is open. */
export const QUEUE_OPERATIONS = ['fast', 'slow', 'guarded'] as const
/** An operation whose handler only one node has, so that no other node leases an entry whose lease has ended. */
export const SOLE_OPERATION = 'sole'
export const SOLE_NODE = 'n1'
export type QueueOperation = (typeof QUEUE_OPERATIONS)[number] | typeof SOLE_OPERATION

/** The policies that live changes are about. */
export const CHANGED_POLICIES = ['p0', 'p1', 'p2'] as const

/** The pool that live changes are about: the members of the file, and those that are added. */
export const SMALL_POOL = 'hosts'
export const FILE_MEMBERS = ['a', 'b'] as const
export const ADDED_MEMBERS = ['c', 'd'] as const

export const NODE_COUNT = 3

/** How often a worker looks for requests; ten times as long if the store notifies it. */
export const WORKER_INTERVAL_MS = 4000
export const WORKER_CONCURRENCY = 2

/** How often a process reads the changes of others. */
export const REFRESH_INTERVAL_MS = 10_000

const KEYS = ['first:', 'second:'].map((id, at) => `${id}${Buffer.alloc(32, at + 1).toString('base64')}`)

/** What differs between seeds. */
export interface SmallSettings {
  readonly traits: StoreTraits
  readonly maxEntries: number
  /** Whether calls with a payload are rejected while the queue is full. */
  readonly refuses: boolean
  /** The keys of each node, newest first; undefined without encryption. */
  readonly keysOf: (node: number) => string[] | undefined
}

/** Decides the settings of a seed. */
export function planSettings(choices: Choices): SmallSettings {
  const isSmallQueue = choices.chance(0.45)
  const isEncrypted = choices.chance(0.35)
  const [first = '', second = ''] = KEYS
  return {
    traits: {
      leaseBatch: choices.chance(0.75) ? 100 : undefined,
      hasNotifications: choices.chance(0.7),
    },
    maxEntries: isSmallQueue ? 25 : 1000,
    refuses: isSmallQueue && choices.chance(0.5),
    // Every node can read the payloads of all others.
    keysOf: (node) => (isEncrypted ? (node === 0 ? [second, first] : [first, second]) : undefined),
  }
}

/** How long the breaker of `guarded` stays open. */
export const GUARDED_OPEN_MS = 12_000

const breaker = {
  failureThreshold: 3,
  windowDuration: 60_000,
  timeoutDuration: GUARDED_OPEN_MS,
  successThreshold: 1,
}

/** The configuration of a node. */
export const createSmallConfig = (node: number, { maxEntries, refuses, keysOf }: SmallSettings): object => ({
  node: { id: `n${node}` },
  policies: {
    fast: { maxAttempts: 1 },
    slow: { maxAttempts: 1 },
    [SOLE_OPERATION]: { maxAttempts: 1 },
    guarded: { maxAttempts: 1, circuitBreaker: 'guarded' },
    ...Object.fromEntries(CHANGED_POLICIES.map((id) => [id, { maxAttempts: 9, baseDelay: 7 }])),
  },
  circuitBreakers: { guarded: breaker },
  pools: { [SMALL_POOL]: { members: FILE_MEMBERS.map((id) => ({ id, url: `http://${id}.example` })) } },
  deadLetters: {
    maxEntries,
    ...(refuses && { whenFull: 'refuse' }),
    ...(keysOf(node) !== undefined && { encryptionKey: keysOf(node) }),
  },
})
