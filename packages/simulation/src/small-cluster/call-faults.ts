import type { Choices } from '../engine/seeded-random.js'
import type { StoreCall } from './store-port.js'

/**
 * What can happen to one call: it is not executed, it is executed and the process gets an error, it takes long, the store sends it again
 * after a lost reply and gets the reply to the second one, or it is rejected with an error that a retry does not change.
 */
export type CallFault = 'not_executed' | 'lost_reply' | 'slow' | 'repeated' | 'rejected'

/** The longest additional time of a slow call. */
export const MAX_SLOW_MS = 1500

/** How often calls of some methods fail. */
interface FaultRule {
  readonly methods: RegExp
  readonly share: number
  readonly kinds: readonly CallFault[]
  /** How many calls about the same entry may fail one after another. */
  readonly maxInSequence: number
}

const SETTLE_FAULTS = ['not_executed', 'lost_reply', 'slow'] as const

/** How many renewals in sequence fail until a lease has ended: the one after them finds that it has. */
const RENEWALS_OF_A_LEASE = 2

/**
 * A lease must survive one failed renewal, and a result several failed settlements, so these fail often, but not more often than that.
 * Records of a journal have no second identity, so the reply to an insert is not lost: a repeated insert would be a duplicate.
 */
const RULES: readonly FaultRule[] = [
  {
    methods: /^deadLetters\.renew$/,
    share: 0.3,
    kinds: ['not_executed', 'lost_reply', 'slow'],
    maxInSequence: 1,
  },
  {
    methods: /^deadLetters\.settle$/,
    share: 0.15,
    kinds: [...SETTLE_FAULTS, ...SETTLE_FAULTS, ...SETTLE_FAULTS, 'rejected'],
    maxInSequence: 3,
  },
  {
    methods: /^deadLetters\.add$/,
    share: 0.07,
    kinds: ['not_executed', 'lost_reply', 'slow', 'repeated'],
    maxInSequence: 2,
  },
  {
    methods: /^deadLetters\.(lease|leaseNext|request|list|get|stats)$/,
    share: 0.05,
    kinds: ['not_executed', 'lost_reply', 'slow'],
    maxInSequence: 2,
  },
  { methods: /^layers\./, share: 0.06, kinds: ['not_executed', 'lost_reply', 'slow'], maxInSequence: 2 },
  {
    methods: /\.(append|expire|purge|save)$/,
    share: 0.06,
    kinds: ['not_executed', 'slow'],
    maxInSequence: 3,
  },
]

/** Decides which calls of the store fail. */
export class CallFaults {
  /** How many calls had a fault. */
  count = 0
  /** False while the cluster starts, and at the end. */
  isOn = false
  /** The processes whose renewals of an entry fail until its lease has ended, by entry. */
  private readonly expiring = new Map<string, string>()
  private readonly choices: Choices
  private readonly inSequence = new Map<string, number>()

  constructor(choices: Choices) {
    this.choices = choices
  }

  /** The renewals of an entry by this process fail until its lease has ended. */
  startExpiring(process: string, id: string): void {
    this.expiring.set(id, process)
  }

  endExpiring(id: string): void {
    this.expiring.delete(id)
  }

  /** Whether the renewals of an entry by this process fail. If the process has died, those of the next one do not. */
  isExpiring(process: string, id: string): boolean {
    return this.expiring.get(id) === process
  }

  plan({ process, method, args }: StoreCall): CallFault | undefined {
    const rule = this.isOn ? RULES.find(({ methods }) => methods.test(method)) : undefined
    if (rule === undefined) return undefined
    const subject = typeof args[0] === 'string' ? args[0] : ''
    const key = `${process} ${method} ${subject}`
    const before = this.inSequence.get(key) ?? 0
    const isExpiring = method === 'deadLetters.renew' && this.isExpiring(process, subject)
    const fails = isExpiring
      ? before < RENEWALS_OF_A_LEASE
      : before < rule.maxInSequence && this.choices.chance(rule.share)
    if (!fails) {
      this.inSequence.delete(key)
      return undefined
    }
    this.inSequence.set(key, before + 1)
    this.count++
    if (isExpiring) return 'not_executed'
    const kind = this.choices.pick(rule.kinds)
    // After a lost reply, a process that gets a lasting error cannot know whether its result is stored.
    return kind === 'rejected' && before > 0 ? 'not_executed' : kind
  }
}
